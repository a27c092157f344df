// How points look: states, the color table, and size and opacity by the space there is.
import { clamp } from "../lib/math";

/** States of points. Dimmed points are behind, selected ones in front; hidden points are neither drawn nor picked. */
export const NORMAL = 0;
export const DIMMED = 1;
export const SELECTED = 2;
export const HIDDEN = 3;

export const TABLE_WIDTH = 256;

/**
 * The color table as the GPU reads it: rows of 256 entries of red, green, blue, and a byte with opacity (upper six bits)
 * and mark (lower two bits). The last row is filled up with the last entry.
 */
export function packed(lut: Uint8Array, marks: Uint8Array | null): Uint8Array<ArrayBuffer> {
  const entries = lut.length >> 2;
  const out = new Uint8Array(Math.max(1, Math.ceil(entries / TABLE_WIDTH)) * TABLE_WIDTH * 4);
  for (let offset = 0; offset < out.length; offset += 4) {
    const from = Math.min(offset, lut.length - 4);
    for (let c = 0; c < 3; c++) out[offset + c] = lut[from + c];
    out[offset + 3] = (lut[from + 3] & 0xfc) | ((marks?.[from >> 2] ?? 0) & 3);
  }
  return out;
}

const MAX_GROWTH = 2.6; // of points in a sample, which must not look like a different plot

export interface Style {
  size: number; // diameter in CSS pixels
  alpha: number;
}

/**
 * Size and opacity of `count` points on a plane with sides of `side` pixels. They depend on the space per point: few
 * points are large and almost opaque, a million are small and translucent. Zooming in gives more space.
 */
export function styleFor(count: number, side: number): Style {
  const space = side / Math.sqrt(Math.max(1, count));
  return { size: clamp(1.3 + 0.42 * space, 1.6, 7), alpha: clamp(0.4 * Math.sqrt(space), 0.16, 0.88) };
}

/** The style in one of the layers: dimmed points are fainter, selected ones larger and more opaque. */
export function layerStyle(style: Style, layer: number): Style {
  if (layer === 0) return { size: style.size * 0.9, alpha: style.alpha * 0.3 };
  if (layer === 2) return { size: style.size + 0.8, alpha: Math.min(0.95, style.alpha * 1.6) };
  return style;
}

/**
 * The style of a sample that stands for all points: the same ink from fewer points. First opacity increases, then size,
 * so that the plot keeps its brightness while the camera moves.
 */
export function sampleStyle(style: Style, fraction: number): Style {
  const ink = style.alpha / Math.max(fraction, 1e-6);
  const alpha = Math.min(Math.max(style.alpha, 0.8), ink);
  return { alpha, size: style.size * Math.min(MAX_GROWTH, Math.sqrt(ink / alpha)) };
}
