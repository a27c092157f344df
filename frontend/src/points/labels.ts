// Placing labels on a scatter plot so that they do not overlap. Labels that come first in the list have priority; a label
// may be shifted a little, and is left out if there is no room.
import { toScreen, type Camera, type Size } from "./camera";

export interface Label {
  x: number; // in the plane
  y: number;
  text: string;
  color: string;
}

export interface PlacedLabel extends Label {
  left: number; // of its center, in pixels
  top: number;
  width: number;
}

export const MAX_WIDTH = 190; // pixels; longer labels are cut with an ellipsis
export const LINE_HEIGHT = 18; // pixels
const GAP = 3; // pixels between labels
const SHIFTS = [
  [0, 0],
  [0, -1],
  [0, 1],
  [0, -2],
  [0, 2],
  [0.55, 0],
  [-0.55, 0],
] as const; // to the right and down, in label widths and lines

/** `measure` returns the width of a text in pixels, including its dot. */
export function placeLabels(
  labels: readonly Label[],
  camera: Camera,
  size: Size,
  measure: (text: string) => number,
): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    const [x, y] = toScreen(camera, size, label.x, label.y);
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const width = Math.min(MAX_WIDTH, measure(label.text));
    for (const [right, down] of SHIFTS) {
      // labels near the edge are moved inside
      const left = inside(x + right * width, width / 2 + 2, size.width);
      const top = inside(y + down * LINE_HEIGHT, LINE_HEIGHT / 2 + 2, size.height);
      const free = placed.every(
        (other) =>
          Math.abs(other.left - left) >= (other.width + width) / 2 + GAP || Math.abs(other.top - top) >= LINE_HEIGHT,
      );
      if (!free) continue;
      placed.push({ ...label, left, top, width });
      break;
    }
  }
  return placed;
}

const inside = (value: number, margin: number, length: number) => Math.max(margin, Math.min(length - margin, value));
