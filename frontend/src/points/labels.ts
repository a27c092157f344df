// Placing labels on a scatter plot in free space: over no point and no other label, as near to what they name as
// possible, with a line that leads there. Labels that come first in the list have priority; a label without room is left
// out.
import { toPlane, toScreen, type Camera, type Size } from "./camera";
import type { Density } from "./density";

export interface Label {
  x: number; // what it names, in the plane
  y: number;
  text: string;
  number: number | null; // of its category, for color and mark; null: none
}

export interface PlacedLabel extends Label {
  left: number; // of its center, in pixels
  top: number;
  width: number;
  from: [number, number]; // the line from the label to what it names, in pixels
  to: [number, number];
}

/** A part of the view, in pixels. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export const MAX_WIDTH = 340; // pixels; longer labels are cut with an ellipsis, …
const SHORT = 170; // … to this where there is no room for more
export const LINE_HEIGHT = 18; // pixels
const GAP = 4; // pixels between a label and points or other labels
const DIRECTIONS = 16;
const STEP = 8; // pixels between the distances that are tried
const FARTHEST = 0.45; // of the longer side of the view

/** `measure` returns the width of a text in pixels, including its mark; `taken` are boxes to keep clear. */
export function placeLabels(
  labels: readonly Label[],
  camera: Camera,
  size: Size,
  measure: (text: string) => number,
  density: Density | null = null,
  taken: readonly Box[] = [],
): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  const boxes = [...taken];
  for (const label of labels) {
    const anchor = toScreen(camera, size, label.x, label.y);
    if (anchor[0] < 0 || anchor[1] < 0 || anchor[0] > size.width || anchor[1] > size.height) continue;
    const free = (box: Box) =>
      isFree(box, boxes, density, camera, size) &&
      !boxes.slice(taken.length).some((other) => crosses(nearestOf(box, anchor), anchor, other)) &&
      !placed.some((other) => crosses(other.from, other.to, box));
    const full = Math.min(MAX_WIDTH, measure(label.text));
    let width = full;
    let center = freeCenter(anchor, width, size, free);
    if (!center && full > SHORT) center = freeCenter(anchor, (width = SHORT), size, free);
    if (!center) continue;
    const box = boxAround(center, width);
    boxes.push(box);
    placed.push({ ...label, left: center[0], top: center[1], width, from: nearestOf(box, anchor), to: anchor });
  }
  return placed;
}

type Pixel = [x: number, y: number];

const boxAround = ([x, y]: Pixel, width: number): Box => ({
  left: x - width / 2,
  top: y - LINE_HEIGHT / 2,
  right: x + width / 2,
  bottom: y + LINE_HEIGHT / 2,
});

/** The first free place on rings around the anchor, inside the view. */
function freeCenter([x, y]: Pixel, width: number, size: Size, free: (box: Box) => boolean): Pixel | null {
  const farthest = FARTHEST * Math.max(size.width, size.height);
  for (let distance = STEP; distance <= farthest; distance += STEP)
    for (let turn = 0; turn < DIRECTIONS; turn++) {
      // to both sides first, then up and down
      const angle = (((turn & 1 ? -1 : 1) * ((turn + 1) >> 1)) / DIRECTIONS) * 2 * Math.PI;
      const center: Pixel = [
        x + Math.cos(angle) * (distance + width / 2),
        y + Math.sin(angle) * (distance + LINE_HEIGHT / 2),
      ];
      const box = boxAround(center, width);
      const inside = box.left >= 2 && box.top >= 2 && box.right <= size.width - 2 && box.bottom <= size.height - 2;
      if (inside && free(box)) return center;
    }
  return null;
}

function isFree(box: Box, boxes: readonly Box[], density: Density | null, camera: Camera, size: Size): boolean {
  const overlaps = (other: Box) =>
    box.left < other.right + GAP && box.right > other.left - GAP && box.top < other.bottom && box.bottom > other.top;
  if (boxes.some(overlaps)) return false;
  const [left, top] = toPlane(camera, size, box.left - GAP, box.top - GAP);
  const [right, bottom] = toPlane(camera, size, box.right + GAP, box.bottom + GAP);
  return !density || density.count(left, bottom, right, top) === 0;
}

/** Whether a line passes through a box; looked at in steps that are shorter than the box is high. */
function crosses([x0, y0]: Pixel, [x1, y1]: Pixel, { left, top, right, bottom }: Box): boolean {
  const steps = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 4);
  for (let step = 0; step <= steps; step++) {
    const [x, y] = [x0 + ((x1 - x0) * step) / (steps || 1), y0 + ((y1 - y0) * step) / (steps || 1)];
    if (x > left && x < right && y > top && y < bottom) return true;
  }
  return false;
}

const nearestOf = (box: Box, [x, y]: Pixel): Pixel => [
  Math.max(box.left, Math.min(box.right, x)),
  Math.max(box.top, Math.min(box.bottom, y)),
];
