// Points on quantile-equidistant axes, for as many points as there are maps: coordinates are u16, so that counting finds
// every quantile and a table maps every coordinate.
import { CODES, decodePosition, encodePosition, UNPLACED } from "../lib/encoding";
import type { Frame } from "../lib/api";
import { countedAxis, quantileTicks, type Axis } from "./axes";
import { PLANE, toPlane, toScreen, type Camera, type Size } from "./camera";
import type { Polygon } from "./polygon";

export type Axes = "linear" | "quantile";

/** A tick at a pixel. */
export interface Mark {
  at: number;
  label: string;
}

export type Ticks = (camera: Camera, size: Size) => { across: Mark[]; up: Mark[] };

export interface QuantileLayout {
  places: Uint16Array; // the same points, from 0 to 65534 on each axis
  to: Point; // from the plane of the positions to that of the places
  from: Point;
  both: [Axis, Axis]; // from coordinates of positions to [0, 1]
}

type Point = (x: number, y: number) => [number, number];

/** Positions on axes from `k` quantiles of each coordinate; what has no place gets none. */
export function quantileLayout(positions: Uint16Array, k = 100): QuantileLayout {
  const [across, up] = [new Uint32Array(CODES), new Uint32Array(CODES)];
  for (let i = 0; i < positions.length; i += 2) {
    if (positions[i] === UNPLACED) continue;
    across[positions[i]]++;
    up[positions[i + 1]]++;
  }
  const both: [Axis, Axis] = [countedAxis(across, k), countedAxis(up, k)];
  const [x, y] = both.map(tableOf);
  const places = new Uint16Array(positions.length);
  for (let i = 0; i < positions.length; i += 2) {
    if (positions[i] === UNPLACED) places[i] = places[i + 1] = UNPLACED;
    else {
      places[i] = x[positions[i]];
      places[i + 1] = y[positions[i + 1]];
    }
  }
  return {
    places,
    both,
    to: (x, y) => [PLANE * both[0].forward(x), PLANE * both[1].forward(y)],
    from: (x, y) => [both[0].inverse(x / PLANE), both[1].inverse(y / PLANE)],
  };
}

function tableOf(axis: Axis): Uint16Array {
  const table = new Uint16Array(PLANE + 1);
  for (let value = 0; value <= PLANE; value++) table[value] = Math.round(PLANE * axis.forward(value));
  return table;
}

const made = new WeakMap<Uint16Array, QuantileLayout>();

/** The same, computed once for each set of positions. */
export function cachedQuantileLayout(positions: Uint16Array): QuantileLayout {
  let found = made.get(positions);
  if (!found) made.set(positions, (found = quantileLayout(positions)));
  return found;
}

const PIECE = PLANE / 128; // of an edge that bends

/** A polygon in another plane: straight edges bend there, so they are taken over in pieces. */
export function warpPolygon(polygon: Polygon, point: Point): Polygon {
  return polygon.flatMap(([ax, ay], at) => {
    const [bx, by] = polygon[(at + 1) % polygon.length];
    const pieces = Math.max(1, Math.ceil(Math.hypot(bx - ax, by - ay) / PIECE));
    return Array.from({ length: pieces }, (_, i) =>
      point(ax + ((bx - ax) * i) / pieces, ay + ((by - ay) * i) / pieces),
    );
  });
}

/** Ticks of the places in sight, with the values that the frame gives to the positions. */
export const layoutTicks = ({ both }: QuantileLayout, { x, y, step }: Frame): Ticks =>
  axisTicks([valued(both[0], x, step), valued(both[1], y, step)]);

/** Ticks of quantile axes in sight; an axis reaches over so many planes, around the middle of the plane. */
export const axisTicks =
  ([across, up]: [Axis, Axis], [wide, high] = [1, 1]): Ticks =>
  (camera, size) => {
    const [left, top] = toPlane(camera, size, 0, 0);
    const [right, bottom] = toPlane(camera, size, size.width, size.height);
    const share = (value: number, reach: number) => (value / PLANE - 0.5) / reach + 0.5;
    const put = (place: number, reach: number) => PLANE * ((place - 0.5) * reach + 0.5);
    const many = (pixels: number) => (pixels > 600 ? 8 : 4);
    return {
      across: quantileTicks(across, share(left, wide), share(right, wide), many(size.width)).map(
        ({ place, label }) => ({
          at: toScreen(camera, size, put(place, wide), 0)[0],
          label,
        }),
      ),
      up: quantileTicks(up, share(bottom, high), share(top, high), many(size.height)).map(({ place, label }) => ({
        at: toScreen(camera, size, 0, put(place, high))[1],
        label,
      })),
    };
  };

/** An axis of coordinates as one of the values they stand for. */
const valued = (axis: Axis, middle: number, step: number): Axis => ({
  forward: (value) => axis.forward(encodePosition(value, middle, step)),
  inverse: (place) => decodePosition(axis.inverse(place), middle, step),
});
