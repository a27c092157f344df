// How vectors are drawn: strips of bars for a query, a key and their product, and cells for the products with other keys.
import type { Pen } from "../../../lib/pen";
import { scaleColor } from "../../../lib/palette";
import type { Theme } from "../../../lib/theme.svelte";
import { amount } from "../../../lib/wording";
import { fitted, type Colors } from "../../examples/heat";

export const LEFT = 84; // room for names
export const RIGHT = 92; // room for numbers
export const STRIP = 48; // height of a strip
export const GAP = 8;
export const ROW = 16; // height of a row of cells
const SANS = "12px system-ui, sans-serif";
const MONO = '12px ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace';

export interface Strip {
  label: string;
  values: Float32Array; // by dimension
  top: number; // the size that fills the strip
  total?: string; // at the right
}

export interface Look {
  order: number[]; // dimensions from left to right
  width: number;
  theme: Theme;
  colors: Colors;
  marked: number | null; // a dimension
}

/** Where a dimension, by its place in the order, starts and ends. */
export function across({ order, width }: Pick<Look, "order" | "width">, place: number): [from: number, to: number] {
  const step = (width - LEFT - RIGHT) / Math.max(1, order.length);
  return [LEFT + place * step, LEFT + (place + 1) * step];
}

/** The dimension at a pixel; null beside them. */
export function dimensionAt(look: Pick<Look, "order" | "width">, x: number): number | null {
  const place = Math.floor(((x - LEFT) / Math.max(1, look.width - LEFT - RIGHT)) * look.order.length);
  return look.order[place] ?? null;
}

/** The color of a value between −top and top. */
export const signedColor = (theme: Theme, value: number, top: number) =>
  scaleColor("differences", theme, 0.5 + value / (2 * (top || 1)));

/** Bars up and down from the middle of a strip; height and color are the value. */
export function drawStrips(pen: Pen, strips: Strip[], look: Look) {
  drawMarked(pen, look, strips.length * (STRIP + GAP));
  strips.forEach((strip, number) => {
    const y = number * (STRIP + GAP);
    const middle = y + STRIP / 2;
    pen.fillStyle = look.colors.hairline;
    pen.fillRect(LEFT, middle - 0.5, look.width - LEFT - RIGHT, 1);
    look.order.forEach((dimension, place) => {
      const [from, to] = across(look, place);
      const share = Math.max(-1, Math.min(1, strip.values[dimension] / (strip.top || 1)));
      const height = Math.max(0.75, (Math.abs(share) * STRIP) / 2);
      const gap = to - from > 4 ? 1 : 0;
      pen.fillStyle = signedColor(look.theme, share < 0 ? Math.min(share, -0.35) : Math.max(share, 0.35), 1);
      pen.fillRect(from, share < 0 ? middle : middle - height, to - from - gap, height);
    });
    writeEnds(pen, strip, middle, look);
  });
}

function writeEnds(pen: Pen, { label, top, total }: Strip, middle: number, { width, colors }: Look) {
  pen.textBaseline = "middle";
  pen.font = SANS;
  pen.textAlign = "left";
  pen.fillStyle = colors.ink;
  pen.fillText(label, 0, middle - 8);
  pen.fillStyle = colors.muted;
  pen.fillText(`±${amount(top)}`, 0, middle + 8);
  if (!total) return;
  pen.fillStyle = colors.ink;
  pen.fillText(total, width - RIGHT + 10, middle);
}

function drawMarked(pen: Pen, look: Look, height: number) {
  const place = look.marked === null ? -1 : look.order.indexOf(look.marked);
  if (place < 0) return;
  const [from, to] = across(look, place);
  pen.fillStyle = look.colors.hairline;
  pen.fillRect(from, 0, to - from, height);
}

export interface KeyRow {
  key: number; // column of the map
  text: string;
  special: boolean;
  products: Float32Array;
  score: number;
  weight: number; // attention, or what it is weighted to
}

/** Products of a query with several keys: a row of cells per key, then its score and its attention as a bar. */
export function drawRows(pen: Pen, rows: KeyRow[], top: number, most: number, chosen: number, look: Look) {
  drawMarked(pen, look, rows.length * ROW);
  rows.forEach(({ key, text, special, products, score, weight }, number) => {
    const y = number * ROW;
    look.order.forEach((dimension, place) => {
      const [from, to] = across(look, place);
      pen.fillStyle = signedColor(look.theme, products[dimension], top);
      pen.fillRect(from, y + 1, to - from - (to - from > 4 ? 1 : 0), ROW - 2);
    });
    pen.textBaseline = "middle";
    pen.font = MONO;
    pen.textAlign = "right";
    pen.fillStyle = special && key !== chosen ? look.colors.muted : look.colors.ink;
    pen.fillText(fitted(pen, text, LEFT - 10), LEFT - 6, y + ROW / 2);
    pen.font = SANS;
    pen.fillStyle = look.colors.ink;
    pen.fillText(amount(score), look.width - RIGHT + 44, y + ROW / 2);
    pen.fillStyle = scaleColor("maps", look.theme, 0.85);
    pen.fillRect(look.width - RIGHT + 52, y + 4, Math.max(0, (40 * weight) / (most || 1)), ROW - 8);
    if (key === chosen) {
      pen.strokeStyle = look.colors.ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(0.75, y + 0.25, look.width - 1.5, ROW - 0.5);
    }
  });
}
