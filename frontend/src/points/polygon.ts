// Lasso polygons in the plane. Where a polygon crosses itself, the even-odd rule applies.
import { PLANE } from "./camera";

export type Polygon = readonly (readonly [x: number, y: number])[];

export const MAX_CORNERS = 40; // keeps URLs short
const STEP = 2; // corners are even numbers, so that three base-36 digits are enough per coordinate
const DIGITS = 3;

/** The edges that overlap the range of y from `low` to `high`, four numbers each: start x, y and extent dx, dy. */
export function edgesBetween(polygon: Polygon, low: number, high: number): Float64Array {
  const out: number[] = [];
  polygon.forEach(([bx, by], i) => {
    const [ax, ay] = polygon[i === 0 ? polygon.length - 1 : i - 1];
    if (Math.max(ay, by) >= low && Math.min(ay, by) <= high) out.push(ax, ay, bx - ax, by - ay);
  });
  return Float64Array.from(out);
}

/** Whether an odd number of edges is to the right of a point. Without division, so that integers are exact. */
export function within(edges: Float64Array, x: number, y: number): boolean {
  let odd = false;
  for (let i = 0; i < edges.length; i += 4) {
    const ay = edges[i + 1];
    const dy = edges[i + 3];
    if (ay > y === ay + dy > y) continue;
    const side = (x - edges[i]) * dy - edges[i + 2] * (y - ay);
    if (dy > 0 ? side < 0 : side > 0) odd = !odd;
  }
  return odd;
}

/** Whether a point is inside. */
export const contains = (polygon: Polygon, x: number, y: number) => within(edgesBetween(polygon, y, y), x, y);

const triangleArea = (a: readonly number[], b: readonly number[], c: readonly number[]) =>
  Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;

/**
 * The same shape with fewer corners (Visvalingam-Whyatt): removes the corner that changes the area least, until at most
 * `maxCorners` are left and each changes the area by more than `minArea`. Null if no area is left.
 */
export function simplified(polygon: Polygon, minArea = 0, maxCorners = MAX_CORNERS): Polygon | null {
  const corners = polygon.map(([x, y]) => [snapped(x), snapped(y)] as [number, number]);
  const areaAt = (i: number) => {
    const n = corners.length;
    return triangleArea(corners[(i + n - 1) % n], corners[i], corners[(i + 1) % n]);
  };
  const areas = corners.map((_, i) => areaAt(i));
  while (corners.length >= 3) {
    let smallest = 0;
    for (let i = 1; i < areas.length; i++) if (areas[i] < areas[smallest]) smallest = i;
    if (corners.length <= maxCorners && areas[smallest] > minArea) return corners;
    corners.splice(smallest, 1);
    areas.splice(smallest, 1);
    for (const neighbor of [smallest - 1, smallest]) {
      const i = (neighbor + corners.length) % corners.length;
      areas[i] = areaAt(i);
    }
  }
  return null;
}

const snapped = (value: number) => Math.min(PLANE, Math.max(0, Math.round(value / STEP) * STEP));

/** The polygon as a URL parameter: six characters per corner. */
export const writePolygon = (polygon: Polygon) =>
  polygon
    .flat()
    .map((value) => (snapped(value) / STEP).toString(36).padStart(DIGITS, "0"))
    .join("");

/** The polygon of a URL parameter; null if it is not valid. */
export function readPolygon(text: string | null | undefined): Polygon | null {
  if (!text || !/^[0-9a-z]+$/.test(text) || text.length % (2 * DIGITS) !== 0) return null;
  const corners: [number, number][] = [];
  for (let start = 0; start < text.length; start += 2 * DIGITS) {
    const [x, y] = [start, start + DIGITS].map((from) => STEP * parseInt(text.slice(from, from + DIGITS), 36));
    if (x > PLANE || y > PLANE) return null;
    corners.push([x, y]);
  }
  return corners.length >= 3 && corners.length <= MAX_CORNERS ? corners : null;
}
