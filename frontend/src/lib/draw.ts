// Attention maps on canvases.
import { ramp } from "./palette";
import type { Theme } from "./theme.svelte";

const tables = new Map<Theme, Uint8Array>();

/** 256 colours of maps. */
export function mapColors(theme: Theme): Uint8Array {
  if (!tables.has(theme)) tables.set(theme, ramp("maps", theme));
  return tables.get(theme)!;
}

export const largest = (values: ArrayLike<number>) => {
  let top = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > top) top = values[i];
  return top;
};

/** Pixels of a map, one for each value. Encoded values are square roots already, so colour follows them in a line. */
export function mapPixels(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  theme: Theme,
  top?: number,
): ImageData {
  const picture = new ImageData(columns, rows);
  const colors = mapColors(theme);
  const scale = 255 / (top ?? (largest(values) || 1));
  for (let i = 0; i < rows * columns; i++) {
    const at = 3 * Math.min(255, Math.round(values[i] * scale));
    picture.data[4 * i] = colors[at];
    picture.data[4 * i + 1] = colors[at + 1];
    picture.data[4 * i + 2] = colors[at + 2];
    picture.data[4 * i + 3] = 255;
  }
  return picture;
}

export function drawMap(
  canvas: HTMLCanvasElement,
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  theme: Theme,
  top?: number,
) {
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d")!.putImageData(mapPixels(values, rows, columns, theme, top), 0, 0);
}
