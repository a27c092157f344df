// Which maps are picked: those that meet all conditions.
import type { HeadRef } from "../../lib/selection.svelte";
import type { Axes } from "../../points/quantile";
import { DIMMED, NORMAL, SELECTED } from "../../points/style";
import { readPolygon, writePolygon, type Polygon } from "../../points/polygon";
import { ofExample, ofHead, slotOf, type Shape } from "./places";

/** The parameters of the address that pick maps, to clear them. */
export const NOTHING_PICKED = { lasso: null, q: null, only: null, saved: null };

/** Conditions; those that are null or missing do not apply. */
export interface Narrowing {
  head?: HeadRef | null;
  example?: number | null;
  labels?: Uint16Array | null; // of each map, and the one of the chosen cluster
  label?: number | null;
  inside?: Uint32Array | null; // the maps in the lasso
  examples?: Uint8Array | null; // 1 for each example that the search finds
  keys?: Uint16Array | null; // of each map, and 1 for each key that is checked
  chosen?: Uint8Array | null;
}

export function picked(shape: Shape, exists: Uint8Array, conditions: Narrowing): Uint32Array {
  const { head = null, example = null, labels, label = null, examples, keys, chosen } = conditions;
  const each = shape.layers * shape.heads;
  const slot = head && slotOf(shape, head);
  const inExample = example === null ? null : ofExample(shape, example);
  const candidates = conditions.inside ?? (head ? ofHead(shape, head) : inExample);
  const total = candidates?.length ?? exists.length;
  const maps = new Uint32Array(total);
  let count = 0;
  for (let k = 0; k < total; k++) {
    const i = candidates ? candidates[k] : k;
    const at = Math.floor(i / each);
    if (!exists[i] || (slot !== null && i % each !== slot) || (example !== null && at !== example)) continue;
    if (labels && label !== null && labels[i] !== label) continue;
    if ((examples && !examples[at]) || (keys && chosen && !chosen[keys[i]])) continue;
    maps[count++] = i;
  }
  return maps.slice(0, count);
}

/** How each map is drawn: `base` normal and the rest dimmed (null: all normal), `front` larger and on top. */
export function states(total: number, base: Uint32Array | null, front: Uint32Array | null): Uint8Array | null {
  if (base === null && front === null) return null;
  const out = new Uint8Array(total).fill(base === null ? NORMAL : DIMMED);
  if (base) for (let k = 0; k < base.length; k++) out[base[k]] = NORMAL;
  if (front) for (let k = 0; k < front.length; k++) out[front[k]] = SELECTED;
  return out;
}

/** `3,4,-1` as numbers. */
export const readNumbers = (text: string | undefined): number[] =>
  (text ?? "")
    .split(",")
    .filter((part) => /^-?\d{1,6}$/.test(part))
    .map(Number);

/** Add or remove a number. */
export const toggled = (numbers: number[], number: number): string | null =>
  (numbers.includes(number) ? numbers.filter((n) => n !== number) : [...numbers, number].sort((a, b) => a - b)).join(
    ",",
  ) || null;

const QUANTILE = "q-"; // prefix of a lasso drawn on quantile axes

export const writeLasso = (polygon: Polygon, axes: Axes) =>
  (axes === "quantile" ? QUANTILE : "") + writePolygon(polygon);

/** A lasso and the axes it was drawn on; it keeps its maps when the axes change. */
export function readLasso(text: string | undefined): { polygon: Polygon; axes: Axes } | null {
  const axes = text?.startsWith(QUANTILE) ? "quantile" : "linear";
  const polygon = readPolygon(axes === "quantile" ? text!.slice(QUANTILE.length) : text);
  return polygon && { polygon, axes };
}
