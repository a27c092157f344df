// Points in three dimensions, seen from a direction: they are turned about their center, and drawn without perspective.
import { TOP, UNPLACED } from "../../../lib/encoding";
import { clamp } from "../../../lib/math";

/** Degrees about the vertical and about the horizontal axis. */
export type Turn = readonly [yaw: number, pitch: number];

export const START: Turn = [30, 20];
const PER_PIXEL = 0.4; // degrees

export const turnBy = ([yaw, pitch]: Turn, dx: number, dy: number): Turn => [
  (((yaw + dx * PER_PIXEL) % 360) + 360) % 360,
  clamp(pitch + dy * PER_PIXEL, -90, 90),
];

export const writeTurn = (turn: Turn) => turn.map((angle) => Math.round(angle)).join(",");

export function readTurn(text: string | null | undefined): Turn | null {
  const match = /^(\d{1,3}),(-?\d{1,2})$/.exec(text ?? "");
  return match ? [Number(match[1]) % 360, clamp(Number(match[2]), -90, 90)] : null;
}

/** Pairs of coordinates of points (x, y, z) from a direction. The sphere around all points fills the plane. */
export function turned(points: Uint16Array, [yaw, pitch]: Turn): Uint16Array {
  const middle = TOP / 2;
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  const [sinA, cosA, sinB, cosB] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
  const scale = middle / Math.max(1, radiusOf(points));
  const pairs = new Uint16Array((2 * points.length) / 3).fill(UNPLACED);
  for (let from = 0, to = 0; from < points.length; from += 3, to += 2) {
    if (points[from] === UNPLACED) continue;
    const [x, y, z] = [points[from] - middle, points[from + 1] - middle, points[from + 2] - middle];
    const depth = z * cosA - x * sinA;
    pairs[to] = clamp(Math.round(middle + (x * cosA + z * sinA) * scale), 0, TOP);
    pairs[to + 1] = clamp(Math.round(middle + (y * cosB - depth * sinB) * scale), 0, TOP);
  }
  return pairs;
}

const radii = new WeakMap<Uint16Array, number>();

/** The largest distance of a point from the center. */
function radiusOf(points: Uint16Array): number {
  let radius = radii.get(points);
  if (radius === undefined) {
    radius = 0;
    for (let i = 0; i < points.length; i += 3)
      if (points[i] !== UNPLACED)
        radius = Math.max(radius, Math.hypot(points[i] - TOP / 2, points[i + 1] - TOP / 2, points[i + 2] - TOP / 2));
    radii.set(points, radius);
  }
  return radius;
}
