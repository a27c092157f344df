// Where names of clusters are written: at their places, and never over one another. The first in the list have the right
// of way; a name moves aside a little, and is left out where there is no room until one zooms in.
import { toScreen, type Camera, type Size } from "./camera";

export interface Label {
  x: number; // in the plane
  y: number;
  text: string;
  color: string;
}

export interface PlacedLabel extends Label {
  left: number; // of the middle, in pixels
  top: number;
  width: number;
}

export const MAX_WIDTH = 190; // pixels; longer names are cut with an ellipsis
export const LINE_HEIGHT = 18; // pixels of height
const GAP = 3;
type Shifts = readonly (readonly [across: number, down: number])[]; // in widths and lines
const SHIFTS: Shifts = [
  [0, 0],
  [0, -1],
  [0, 1],
  [0, -2],
  [0, 2],
  [0.55, 0],
  [-0.55, 0],
];
/** Beside a point that stays in sight: to the right if there is room. */
export const BESIDE: Shifts = [
  [0.51, 0],
  [-0.51, 0],
  [0, -1.01],
  [0, 1.01],
  [0.51, -1.01],
  [0.51, 1.01],
  [-0.51, -1.01],
  [-0.51, 1.01],
];

/** `measure` gives the width of a text with its dot, or with the room on both sides. */
export function placeLabels(
  labels: readonly Label[],
  camera: Camera,
  size: Size,
  measure: (text: string) => number,
  { line = LINE_HEIGHT, shifts = SHIFTS, gap = GAP }: { line?: number; shifts?: Shifts; gap?: number } = {},
): PlacedLabel[] {
  const out: PlacedLabel[] = [];
  for (const label of labels) {
    const [x, y] = toScreen(camera, size, label.x, label.y);
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const width = Math.min(MAX_WIDTH, measure(label.text));
    for (const [across, down] of shifts) {
      // a name near the edge is drawn in, so that it can be read whole
      const left = clamped(x + across * width, width / 2 + 2, size.width);
      const top = clamped(y + down * line, line / 2 + 2, size.height);
      const free = out.every(
        (other) => Math.abs(other.left - left) >= (other.width + width) / 2 + gap || Math.abs(other.top - top) >= line,
      );
      if (!free) continue;
      out.push({ ...label, left, top, width });
      break;
    }
  }
  return out;
}

const clamped = (value: number, margin: number, length: number) => Math.max(margin, Math.min(length - margin, value));
