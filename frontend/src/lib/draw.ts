// Drawing attention maps, and differences of two, on canvases.
import { ramp } from "./palette";
import type { Theme } from "./theme.svelte";

export type MapScale = "maps" | "differences";
const ramps = new Map<string, Uint8Array>();

/** The 256 colors of attention maps, or of their differences. */
export function mapColors(theme: Theme, scale: MapScale = "maps"): Uint8Array {
  const key = scale + theme;
  if (!ramps.has(key)) ramps.set(key, ramp(scale, theme));
  return ramps.get(key)!;
}

/** Where a difference lies on a scale from −top (0) over zero (0.5) to top (1): square roots, as for attention. */
export const differenceShare = (value: number, top: number) =>
  0.5 + 0.5 * Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / (top || 1)));

export const largest = (values: ArrayLike<number>) => {
  let top = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > top) top = values[i];
  return top;
};

/** The largest difference, whatever its sign. */
export const widest = (values: ArrayLike<number>) => {
  let top = 0;
  for (let i = 0; i < values.length; i++) if (Math.abs(values[i]) > top) top = Math.abs(values[i]);
  return top;
};

/**
 * An image with one pixel per value. Attention is encoded by its square roots, and colors are linear in these;
 * differences are numbers from −top to top.
 */
export function mapPixels(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  theme: Theme,
  top?: number,
  scale: MapScale = "maps",
): ImageData {
  const image = new ImageData(columns, rows);
  const colors = mapColors(theme, scale);
  const most = top ?? ((scale === "maps" ? largest : widest)(values) || 1);
  const share = scale === "maps" ? (value: number) => value / most : (value: number) => differenceShare(value, most);
  for (let i = 0; i < rows * columns; i++) {
    const offset = 3 * Math.min(255, Math.round(255 * share(values[i])));
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
  scale?: MapScale,
) {
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d")!.putImageData(mapPixels(values, rows, columns, theme, top, scale), 0, 0);
}
