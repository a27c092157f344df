// Drawing attention maps on canvases.
import { ramp } from "./palette";
import type { Theme } from "./theme.svelte";

const ramps = new Map<Theme, Uint8Array>();

/** The 256 colors of attention maps. */
export function mapColors(theme: Theme): Uint8Array {
  if (!ramps.has(theme)) ramps.set(theme, ramp("maps", theme));
  return ramps.get(theme)!;
}

export const largest = (values: ArrayLike<number>) => {
  let top = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > top) top = values[i];
  return top;
};

/** An image with one pixel per value. Values are encoded by their square roots, and colors are linear in these. */
export function mapPixels(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  theme: Theme,
  top?: number,
): ImageData {
  const image = new ImageData(columns, rows);
  const colors = mapColors(theme);
  const scale = 255 / (top ?? (largest(values) || 1));
  for (let i = 0; i < rows * columns; i++) {
    const offset = 3 * Math.min(255, Math.round(values[i] * scale));
    image.data[4 * i] = colors[offset];
    image.data[4 * i + 1] = colors[offset + 1];
    image.data[4 * i + 2] = colors[offset + 2];
    image.data[4 * i + 3] = 255;
  }
  return image;
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
