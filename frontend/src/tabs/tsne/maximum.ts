// Maximum attention: one row per head, one column per token, wrapped into bands like lines of text.
import { largest } from "../../lib/draw";
import type { Unit } from "../examples/tokens";

export const LEFT = 34; // room for the names of heads
export const TOP = 74; // room for tokens, written vertically
export const ROW = 14; // pixels of a head
const NARROW = 16; // pixels of a token: just enough for its letters
const WIDE = 28;

export interface Maximum {
  layer: number;
  heads: number;
  keys: Unit[];
  queries: Unit[];
  values: Uint16Array; // encoded attention (head, key)
  argmax: Uint16Array; // the query each value comes from
  top: number; // of the encoded values
}

/** Parse the response for a layer; null if it does not match these tokens. */
export function maximumOf(
  response: Uint16Array,
  layer: number,
  heads: number,
  queries: Unit[],
  keys: Unit[],
): Maximum | null {
  const size = heads * keys.length;
  if (!size || response.length !== 2 * size) return null;
  const values = response.subarray(0, size);
  return { layer, heads, keys, queries, values, argmax: response.subarray(size), top: largest(values) };
}

export interface Band {
  from: number;
  to: number;
}

/** Split tokens into bands of as many as fit; a single band uses wider cells. */
export function bandsOf(count: number, room: number): { cell: number; bands: Band[] } {
  const fit = Math.max(1, Math.floor(room / NARROW));
  const cell = count <= fit ? Math.max(NARROW, Math.min(WIDE, Math.floor(room / Math.max(1, count)))) : NARROW;
  return {
    cell,
    bands: Array.from({ length: Math.ceil(count / fit) }, (_, i) => ({
      from: i * fit,
      to: Math.min(count, (i + 1) * fit),
    })),
  };
}

/** The values of one band (head, key). */
export function cut({ values, heads, keys }: Maximum, { from, to }: Band): Uint16Array {
  const out = new Uint16Array(heads * (to - from));
  for (let head = 0; head < heads; head++)
    out.set(values.subarray(head * keys.length + from, head * keys.length + to), head * (to - from));
  return out;
}
