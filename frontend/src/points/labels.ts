// Where names of clusters are written: at their places, and never over one another. The first in the list have the right
// of way; a name moves aside a little, and is left out where there is no room until one zooms in.
import { toScreen, type Camera, type Size } from "./camera";

export interface Label {
  x: number; // in the plane
  y: number;
  text: string;
  colour: string;
}

export interface Placed extends Label {
  left: number; // of the middle, in pixels
  top: number;
  width: number;
}

export const WIDEST = 190; // pixels; longer names are cut with an ellipsis
export const LINE = 18; // pixels of height
const GAP = 3;
const SHIFTS = [[0, 0], [0, -1], [0, 1], [0, -2], [0, 2], [0.55, 0], [-0.55, 0]] as const; // in lines and widths

/** `measure` gives the width of a text with its dot. */
export function placed(labels: readonly Label[], camera: Camera, size: Size, measure: (text: string) => number): Placed[] {
  const out: Placed[] = [];
  for (const label of labels) {
    const [x, y] = toScreen(camera, size, label.x, label.y);
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const width = Math.min(WIDEST, measure(label.text));
    for (const [across, down] of SHIFTS) {
      // a name near the edge is drawn in, so that it can be read whole
      const left = clamped(x + across * width, width / 2 + 2, size.width);
      const top = clamped(y + down * LINE, LINE / 2 + 2, size.height);
      const free = out.every(
        (other) => Math.abs(other.left - left) >= (other.width + width) / 2 + GAP || Math.abs(other.top - top) >= LINE,
      );
      if (!free) continue;
      out.push({ ...label, left, top, width });
      break;
    }
  }
  return out;
}

const clamped = (value: number, margin: number, length: number) =>
  Math.max(margin, Math.min(length - margin, value));
