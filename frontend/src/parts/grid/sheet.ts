// All maps of a grid in one picture, from which each repaint copies them.
import { largest, mapPixels } from "../../lib/draw";
import type { Pen } from "../../lib/pen";
import type { Theme } from "../../lib/theme.svelte";
import type { Layout } from "./layout";
import { resampler } from "./resample";

/** Colors and font of the page. */
export interface Look {
  theme: Theme;
  paper: string;
  ink: string;
  muted: string;
  track: string;
  font: string;
}

/** What a grid is painted from: `tile` is the side of a map in the sheet. */
export interface Drawn {
  layout: Layout;
  sheet: HTMLCanvasElement;
  tile: number;
  look: Look;
}

const ACROSS = 64; // maps in a row of the sheet

/** Maps side by side in tiles of `size` pixels; null leaves a tile empty. */
export function sheetOf(count: number, size: number, pixels: (at: number) => ImageData | null): HTMLCanvasElement {
  const sheet = document.createElement("canvas");
  sheet.width = Math.min(ACROSS, count || 1) * size;
  sheet.height = Math.max(1, Math.ceil(count / ACROSS)) * size;
  const pen = sheet.getContext("2d")!;
  for (let at = 0; at < count; at++) {
    const image = pixels(at);
    if (image) pen.putImageData(image, (at % ACROSS) * size, Math.floor(at / ACROSS) * size);
  }
  return sheet;
}

/** A sheet of attention maps; each goes from 0 to its own largest value. `slots` are their places among `maps`. */
export function attentionSheet(
  maps: Uint16Array,
  slots: (number | null)[],
  resolution: number,
  size: number,
  theme: Theme,
): HTMLCanvasElement {
  const sample = resampler(resolution, size);
  const area = resolution * resolution;
  return sheetOf(slots.length, size, (at) => {
    const slot = slots[at];
    const values = slot === null ? new Uint16Array() : maps.subarray(slot * area, (slot + 1) * area);
    return values.length < area ? null : mapPixels(sample(values), size, size, theme, largest(values) || 1);
  });
}

/** Draw the map of a head at its place. */
export function drawTile(pen: Pen, { layout, sheet, tile }: Drawn, at: number) {
  const { x, y, map } = layout;
  pen.drawImage(sheet, (at % ACROSS) * tile, Math.floor(at / ACROSS) * tile, tile, tile, x[at], y[at], map, map);
}
