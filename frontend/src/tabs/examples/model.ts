// The grid of all heads: the size of its cells, and what is drawn in one.
import { largest, mapPixels } from "../../lib/draw";
import { FULL } from "../../lib/encoding";
import { categoryColor, categoryMark } from "../../lib/palette";
import type { Pen } from "../../lib/pen";
import type { HeadRef } from "../../lib/selection.svelte";
import type { Theme } from "../../lib/theme.svelte";
import { strongest } from "./arcs";
import type { Seen } from "./reduce";

export const GUTTER = 36; // for the names of layers
export const TITLES = 20; // for the names of heads
const STRIP = 4; // the pattern of the head, below its map
const [SMALLEST, LARGEST] = [20, 150];
const SCROLLBAR = 16;

export interface Cells {
  side: number; // of a map, in pixels of the page
  gap: number;
  across: number; // from one cell to the next
  down: number;
  width: number; // of the whole grid
}

/** Cells as wide as the space allows; the grid scrolls if they would be too small. */
export function cellsFor(width: number, heads: number): Cells {
  const room = Math.max(0, width - GUTTER - SCROLLBAR);
  const gap = room / heads < 44 ? 3 : 6;
  const side = Math.min(LARGEST, Math.max(SMALLEST, Math.floor(room / heads) - gap));
  return { side, gap, across: side + gap, down: side + STRIP + 2 + gap, width: GUTTER + heads * (side + gap) };
}

/** The head at a point below and to the right of the corner of the first cell; null if there is none. */
export function headAt({ across, down }: Cells, heads: number[], x: number, y: number): HeadRef | null {
  const [head, layer] = [Math.floor(x / across), Math.floor(y / down)];
  return x >= 0 && y >= 0 && layer < heads.length && head < heads[layer] ? { layer, head } : null;
}

/** The most lines of a cell: more could not be told apart. */
export const mostLines = (side: number) => 3 * side;

/** The strongest link of a map. */
export function strongestLink({ values, columns }: Seen): { query: number; key: number; value: number } {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return { query: Math.floor(best / columns), key: best % columns, value: values[best] ?? 0 };
}

export interface Look {
  theme: Theme;
  ground: string;
  line: string;
}

/** The map of a head: lines from queries at the left to keys at the right, their opacity is attention. */
export function drawLines(pen: Pen, seen: Seen, least: number, x: number, side: number) {
  const [up, down] = [side / Math.max(1, seen.rows), side / Math.max(1, seen.columns)];
  for (const { query, key, value } of strongest(seen.values, seen.columns, least, mostLines(side))) {
    pen.globalAlpha = Math.min(1, value);
    pen.beginPath();
    pen.moveTo(x + 2, (query + 0.5) * up);
    pen.lineTo(x + side - 2, (key + 0.5) * down);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

let scratch: HTMLCanvasElement | null = null;

export const PALE = 0.1; // the scale of colors does not end below this, so that attention that is spread evenly is pale

/** An encoded pooled map of `r` × `r` values as colors, on the scale of its own maximum. */
export function drawSmall(pen: Pen, map: Uint16Array, r: number, theme: Theme, x: number, side: number) {
  scratch ??= document.createElement("canvas");
  if (scratch.width !== r) [scratch.width, scratch.height] = [r, r];
  const top = Math.max(largest(map), Math.sqrt(PALE) * FULL);
  scratch.getContext("2d")!.putImageData(mapPixels(map, r, r, theme, top), 0, 0);
  pen.drawImage(scratch, x, 0, side, side);
}

const DASHES = [Infinity, 8, 4, 2]; // pixels: colors repeat after ten categories, with the next kind of strip

/** The pattern of a head, as a strip below its map. */
export function drawPattern(pen: Pen, pattern: number, theme: Theme, x: number, side: number) {
  pen.fillStyle = categoryColor(pattern, theme);
  const dash = DASHES[categoryMark(pattern)];
  for (let at = 0; at < side; at += 1.5 * dash) pen.fillRect(x + at, side + 2, Math.min(dash, side - at), STRIP);
}
