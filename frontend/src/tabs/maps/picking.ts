// Which maps are picked: those inside the lasso, on the texts found by the search, and in the chosen categories. All
// conditions apply together.
import type { Axes } from "../../points/quantile";
import { DIMMED, NORMAL, SELECTED } from "../../points/style";
import { readPolygon, writePolygon, type Polygon } from "../../points/polygon";
import type { Shape } from "./places";

export interface Narrowing {
  inside: Uint32Array | null; // the maps in the lasso
  examples: Uint8Array | null; // 1 for each example that matches
  keys: Uint16Array | null; // of each map, and 1 for each key that is chosen
  chosen: Uint8Array | null;
}

export function picked(shape: Shape, exists: Uint8Array, { inside, examples, keys, chosen }: Narrowing): Uint32Array {
  const each = shape.layers * shape.heads;
  const total = inside?.length ?? exists.length;
  const maps = new Uint32Array(total);
  let count = 0;
  for (let k = 0; k < total; k++) {
    const i = inside ? inside[k] : k;
    if (!exists[i] || (examples && !examples[Math.floor(i / each)]) || (keys && chosen && !chosen[keys[i]])) continue;
    maps[count++] = i;
  }
  return maps.slice(0, count);
}

/** How each map is drawn: `base` normal and the rest dimmed (null: all normal), `front` larger and on top. */
export function states(
  total: number,
  base: Uint32Array | null,
  front: Uint32Array | null,
  within = false,
): Uint8Array | null {
  if (base === null && front === null) return null;
  const out = new Uint8Array(total).fill(base === null ? NORMAL : DIMMED);
  if (base) for (let k = 0; k < base.length; k++) out[base[k]] = NORMAL;
  if (front) for (let k = 0; k < front.length; k++) if (!within || out[front[k]] === NORMAL) out[front[k]] = SELECTED;
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
