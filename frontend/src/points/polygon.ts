// The line drawn around points: a closed polygon in the plane. Where it crosses itself, the even-odd rule holds.
import { PLANE } from "./camera";

export type Polygon = readonly (readonly [x: number, y: number])[];

export const MAX_CORNERS = 40; // as many as an address can hold in good style
const STEP = 2; // corners lie on even numbers: three digits to the base 36 are then enough for each coordinate
const DIGITS = 3;

/** The edges that reach between two heights, four numbers each: where one begins, and how far it goes. */
export function edgesBetween(polygon: Polygon, low: number, high: number): Float64Array {
  const out: number[] = [];
  polygon.forEach(([bx, by], at) => {
    const [ax, ay] = polygon[at === 0 ? polygon.length - 1 : at - 1];
    if (Math.max(ay, by) >= low && Math.min(ay, by) <= high) out.push(ax, ay, bx - ax, by - ay);
  });
  return Float64Array.from(out);
}

/** Whether an odd number of edges lies to the right of a place. There is no division: whole numbers are exact. */
export function within(edges: Float64Array, x: number, y: number): boolean {
  let odd = false;
  for (let at = 0; at < edges.length; at += 4) {
    const ay = edges[at + 1];
    const dy = edges[at + 3];
    if (ay > y === ay + dy > y) continue;
    const side = (x - edges[at]) * dy - edges[at + 2] * (y - ay);
    if (dy > 0 ? side < 0 : side > 0) odd = !odd;
  }
  return odd;
}

/** Whether a place lies inside. */
export const contains = (polygon: Polygon, x: number, y: number) => within(edgesBetween(polygon, y, y), x, y);

const triangle = (a: readonly number[], b: readonly number[], c: readonly number[]) =>
  Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;

/**
 * The same shape with few corners (Visvalingam and Whyatt): the corner that changes the area least goes first, until
 * there are few enough and none is left that changes it by less than `least`. Null if no area is left.
 */
export function simplified(polygon: Polygon, least = 0, most = MAX_CORNERS): Polygon | null {
  const corners = polygon.map(([x, y]) => [snapped(x), snapped(y)] as [number, number]);
  const area = (at: number) => {
    const n = corners.length;
    return triangle(corners[(at + n - 1) % n], corners[at], corners[(at + 1) % n]);
  };
  const areas = corners.map((_, at) => area(at));
  while (corners.length >= 3) {
    let slightest = 0;
    for (let at = 1; at < areas.length; at++) if (areas[at] < areas[slightest]) slightest = at;
    if (corners.length <= most && areas[slightest] > least) return corners;
    corners.splice(slightest, 1);
    areas.splice(slightest, 1);
    for (const near of [slightest - 1, slightest]) {
      const at = (near + corners.length) % corners.length;
      areas[at] = area(at);
    }
  }
  return null;
}

const snapped = (value: number) => Math.min(PLANE, Math.max(0, Math.round(value / STEP) * STEP));

/** For an address: six characters a corner. */
export const writePolygon = (polygon: Polygon) =>
  polygon
    .flat()
    .map((value) => (snapped(value) / STEP).toString(36).padStart(DIGITS, "0"))
    .join("");

/** What an address says, or null where it says nothing that can be used. */
export function readPolygon(text: string | null | undefined): Polygon | null {
  if (!text || !/^[0-9a-z]+$/.test(text) || text.length % (2 * DIGITS) !== 0) return null;
  const corners: [number, number][] = [];
  for (let at = 0; at < text.length; at += 2 * DIGITS) {
    const [x, y] = [at, at + DIGITS].map((from) => STEP * parseInt(text.slice(from, from + DIGITS), 36));
    if (x > PLANE || y > PLANE) return null;
    corners.push([x, y]);
  }
  return corners.length >= 3 && corners.length <= MAX_CORNERS ? corners : null;
}
