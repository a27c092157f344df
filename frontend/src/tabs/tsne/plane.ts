// A layout in the plane of the camera (0 to 65534, y upwards), with linear or quantile axes and their ticks.
import type { PositionScale } from "../../lib/api";
import { decodePosition, encodePosition, UNPLACED } from "../../lib/encoding";
import { PLANE, toPlane, toScreen, type Bounds, type Camera, type Size } from "../../points/camera";
import { quantileAxis, roundTicks, type Axis } from "../../points/axes";
import { axisTicks, type Axes, type Ticks } from "../../points/quantile";

export interface Plane {
  places: Float64Array; // pairs; NaN if unplaced
  bounds: Bounds | null;
  ticks: Ticks;
}

/** A line between two points. */
export interface Line {
  from: number;
  to: number;
  share: number; // 0 to 1: how strong
  by?: boolean; // towards the token pointed at
}

const HALF = PLANE / 2;

function boundsOf(places: Float64Array): Bounds | null {
  const bounds = { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
  for (let i = 0; i < places.length; i += 2) {
    if (Number.isNaN(places[i])) continue;
    bounds.left = Math.min(bounds.left, places[i]);
    bounds.right = Math.max(bounds.right, places[i]);
    bounds.bottom = Math.min(bounds.bottom, places[i + 1]);
    bounds.top = Math.max(bounds.top, places[i + 1]);
  }
  return bounds.right < bounds.left ? null : bounds;
}

/** `wide` is the aspect ratio of the figure, width by height: quantile axes fill it, linear ones keep distances. */
export function planeOf(positions: Uint16Array, scale: PositionScale, axes: Axes, wide: number): Plane {
  const places = Float64Array.from(positions, (value) => (value === UNPLACED ? NaN : value));
  if (axes === "linear" || !scale.step)
    return { places, bounds: boundsOf(places), ticks: (camera, size) => linearTicks(scale, camera, size) };
  const decoded = (axis: 0 | 1) =>
    Array.from({ length: places.length / 2 }, (_, i) =>
      decodePosition(places[2 * i + axis], axis ? scale.y : scale.x, scale.step),
    );
  const values = [decoded(0), decoded(1)];
  const both: [Axis, Axis] = [quantileAxis(values[0]), quantileAxis(values[1])];
  const reach: [number, number] = [Math.max(1, wide), Math.max(1, 1 / wide)]; // of each axis, in planes
  const put = (axis: 0 | 1, place: number) => HALF + (place - 0.5) * PLANE * reach[axis];
  for (let i = 0; i < places.length; i++) {
    const axis = (i % 2) as 0 | 1;
    if (!Number.isNaN(places[i])) places[i] = put(axis, both[axis].forward(values[axis][i >> 1]));
  }
  const bounds = { left: put(0, 0), right: put(0, 1), bottom: put(1, 0), top: put(1, 1) };
  return { places, bounds, ticks: axisTicks(both, reach) };
}

function linearTicks({ x, y, step }: PositionScale, camera: Camera, size: Size) {
  if (!step) return { across: [], up: [] };
  const [left, top] = toPlane(camera, size, 0, 0);
  const [right, bottom] = toPlane(camera, size, size.width, size.height);
  const across = roundTicks(decodePosition(left, x, step), decodePosition(right, x, step), size.width / 90);
  const up = roundTicks(decodePosition(bottom, y, step), decodePosition(top, y, step), size.height / 70);
  return {
    across: across.map(({ value, label }) => ({
      at: toScreen(camera, size, encodePosition(value, x, step), 0)[0],
      label,
    })),
    up: up.map(({ value, label }) => ({ at: toScreen(camera, size, 0, encodePosition(value, y, step))[1], label })),
  };
}

/** The point nearest to a pixel, within `reach` pixels, or -1. */
export function nearest(places: Float64Array, camera: Camera, size: Size, x: number, y: number, reach = 14): number {
  let [best, least] = [-1, reach * reach];
  for (let i = 0; i < places.length / 2; i++) {
    const [px, py] = toScreen(camera, size, places[2 * i], places[2 * i + 1]);
    const distance = (px - x) ** 2 + (py - y) ** 2;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}
