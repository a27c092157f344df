// The points of all cells in one array, as the renderer draws them: a sample of the points of every head, or all points of
// the layers that are in view.
import { DIMMED, SELECTED } from "../../../points/style";
import type { Group } from "../../../points/order";
import type { HeadRef } from "../../../lib/selection.svelte";
import { pointKeys, type Coded } from "../coding";

export interface Cells {
  places: HeadRef[]; // the head of each panel
  groups: Group[]; // its points
  positions: Uint16Array; // pairs
  tokens: Uint32Array; // the tokens of the points of a panel: queries, then keys of the same
  slots: number; // panels that the arrays have room for, heads that do not exist among them
}

/** Panels of some layers. `positions` is (layer, head, point, axis), with room for the same number of heads in each. */
export function cellsOf(
  layers: number[],
  heads: (layer: number) => number,
  room: number,
  positions: Uint16Array,
  dims: number,
  tokens: Uint32Array,
): Cells {
  const points = 2 * tokens.length;
  const places: HeadRef[] = [];
  const groups: Group[] = [];
  layers.forEach((layer, at) => {
    for (let head = 0; head < heads(layer); head++) {
      places.push({ layer, head });
      groups.push({ first: (at * room + head) * points, count: points });
    }
  });
  return { places, groups, positions: flat(positions, dims), tokens, slots: layers.length * room };
}

/** The values of some of `total` tokens in arrays (panel, queries then keys, value), `width` values for each point. */
export function ofTokens(values: Uint16Array, tokens: Uint32Array, total: number, width: number): Uint16Array {
  const halves = values.length / (total * width);
  const out = new Uint16Array(halves * tokens.length * width);
  let at = 0;
  for (let half = 0; half < halves; half++)
    for (const token of tokens) for (let i = 0; i < width; i++) out[at++] = values[(half * total + token) * width + i];
  return out;
}

/** The values of two sets of tokens in such arrays, those of the second after those of the first in each half. */
export function together(first: Uint16Array, second: Uint16Array, panels: number): Uint16Array {
  const [a, b] = [first, second].map(({ length }) => length / (2 * panels));
  const out = new Uint16Array(first.length + second.length);
  for (let half = 0; half < 2 * panels; half++) {
    out.set(first.subarray(half * a, (half + 1) * a), half * (a + b));
    out.set(second.subarray(half * b, (half + 1) * b), half * (a + b) + a);
  }
  return out;
}

/** The first two axes of positions. */
export function flat(positions: Uint16Array, dims: number): Uint16Array {
  if (dims === 2) return positions;
  const pairs = new Uint16Array((2 * positions.length) / dims);
  for (let from = 0, to = 0; to < pairs.length; from += dims, to += 2) {
    pairs[to] = positions[from];
    pairs[to + 1] = positions[from + 1];
  }
  return pairs;
}

export function joined(parts: Uint16Array[]): Uint16Array {
  if (parts.length === 1) return parts[0];
  const out = new Uint16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function tiled<T extends Uint8Array | Uint16Array>(panel: T, all: T): T {
  for (let at = 0; at < all.length; at += panel.length) all.set(panel, at);
  return all;
}

/** Color keys of all points by their tokens. */
export function cellKeys({ tokens, slots }: Cells, coded: Coded): Uint16Array {
  const panel = pointKeys(coded, tokens);
  return tiled(panel, new Uint16Array(slots * panel.length));
}

/** Color keys of all points by a measure that each point has. */
export function measuredKeys({ tokens }: Cells, coded: Coded): Uint16Array {
  const keys = coded.keys.slice();
  for (let at = tokens.length; at < keys.length; at += 2 * tokens.length)
    for (let i = at; i < at + tokens.length; i++) keys[i] += coded.size;
  return keys;
}

/** States of all points: those of some tokens are in front, all others behind. */
export function cellStates({ tokens, slots }: Cells, found: Uint32Array | null, total: number): Uint8Array | null {
  if (!found) return null;
  const flags = new Uint8Array(total).fill(DIMMED);
  for (const token of found) flags[token] = SELECTED;
  const panel = new Uint8Array(2 * tokens.length);
  tokens.forEach((token, i) => (panel[i] = panel[tokens.length + i] = flags[token]));
  return tiled(panel, new Uint8Array(slots * panel.length));
}
