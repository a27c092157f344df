// How a point looks: its state, its mark, its colour, and size and opacity for the room it has.

/** States of points. What is dimmed lies behind, what is selected in front; hidden points are neither drawn nor picked. */
export const NORMAL = 0;
export const DIMMED = 1;
export const SELECTED = 2;
export const HIDDEN = 3;

/** The marks of the first ten categories, the second ten and so on, in the order of `categoryMark` in lib/palette. */
export const MARKS = ["disc", "ring", "triangle", "cross"] as const;

export const TABLE_WIDTH = 256;

/**
 * The colour table as the graphics card reads it: rows of 256 entries of red, green, blue and a byte with opacity (upper
 * six bits) and mark (lower two). The last entry fills up the last row.
 */
export function packed(lut: Uint8Array, marks: Uint8Array | null): Uint8Array<ArrayBuffer> {
  const entries = lut.length >> 2;
  const out = new Uint8Array(Math.max(1, Math.ceil(entries / TABLE_WIDTH)) * TABLE_WIDTH * 4);
  for (let at = 0; at < out.length; at += 4) {
    const from = Math.min(at, lut.length - 4);
    for (let c = 0; c < 3; c++) out[at + c] = lut[from + c];
    out[at + 3] = (lut[from + 3] & 0xfc) | ((marks?.[from >> 2] ?? 0) & 3);
  }
  return out;
}

const LARGEST = 2.6; // times: a sample must not look like another kind of picture

export interface Style {
  size: number; // diameter in pixels of the page
  alpha: number;
}

/**
 * Size and opacity of `count` points when the plane is `side` pixels wide and high. What counts is the room of a point:
 * few points are large and nearly opaque, a million are small and let those below shine through. Zooming in gives room.
 */
export function styleFor(count: number, side: number): Style {
  const room = side / Math.sqrt(Math.max(1, count));
  return { size: between(1.6, 1.3 + 0.42 * room, 7), alpha: between(0.16, 0.4 * Math.sqrt(room), 0.88) };
}

/** How the layers differ from one another: what is dimmed is faint, what is selected a little larger and opaque. */
export function layered(style: Style, layer: number): Style {
  if (layer === 0) return { size: style.size * 0.9, alpha: style.alpha * 0.3 };
  if (layer === 2) return { size: style.size + 0.8, alpha: Math.min(0.95, style.alpha * 1.6) };
  return style;
}

/**
 * The style of a sample that stands for all: the same ink from fewer points. Opacity grows first, then size, so that the
 * picture keeps its tone while the camera moves and only its grain is coarser.
 */
export function standingFor(style: Style, fraction: number): Style {
  const wanted = style.alpha / Math.max(fraction, 1e-6);
  const alpha = Math.min(Math.max(style.alpha, 0.8), wanted);
  return { alpha, size: style.size * Math.min(LARGEST, Math.sqrt(wanted / alpha)) };
}

const between = (low: number, value: number, high: number) => Math.min(high, Math.max(low, value));
