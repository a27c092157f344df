// Scatter plots on quantile axes, fast enough for millions of points: coordinates are u16, so quantiles come from counts
// and positions from a table.
import type { PositionScale } from "../lib/api";
import { CODES, decodePosition, encodePosition, UNPLACED } from "../lib/encoding";
import { countedAxis, QUANTILES, quantileTicks, type Axis } from "./axes";
import { PLANE, toPlane, toScreen, type Camera, type Size } from "./camera";
import type { Polygon } from "./polygon";

/** The kinds of axes. */
export type Axes = "linear" | "quantile";

/** A tick at a pixel. */
export interface Tick {
  at: number;
  label: string;
}

/** The ticks that a camera sees. */
export type Ticks = (camera: Camera, size: Size) => { across: Tick[]; up: Tick[] };

type Transform = (x: number, y: number) => [number, number];

export interface QuantileLayout {
  positions: Uint16Array; // of the same points, on quantile axes
  toQuantile: Transform; // from linear to quantile coordinates
  toLinear: Transform;
  axes: [Axis, Axis]; // from linear coordinates to [0, 1]
}

/** The positions of points on quantile axes with `k` knots. */
export function quantileLayout(positions: Uint16Array, k = QUANTILES): QuantileLayout {
  const [countsX, countsY] = [new Uint32Array(CODES), new Uint32Array(CODES)];
  for (let i = 0; i < positions.length; i += 2) {
    if (positions[i] === UNPLACED) continue;
    countsX[positions[i]]++;
    countsY[positions[i + 1]]++;
  }
  const axes: [Axis, Axis] = [countedAxis(countsX, k), countedAxis(countsY, k)];
  const [tableX, tableY] = axes.map(tableOf);
  const moved = new Uint16Array(positions.length);
  for (let i = 0; i < positions.length; i += 2) {
    if (positions[i] === UNPLACED) moved[i] = moved[i + 1] = UNPLACED;
    else {
      moved[i] = tableX[positions[i]];
      moved[i + 1] = tableY[positions[i + 1]];
    }
  }
  return {
    positions: moved,
    axes,
    toQuantile: (x, y) => [PLANE * axes[0].forward(x), PLANE * axes[1].forward(y)],
    toLinear: (x, y) => [axes[0].inverse(x / PLANE), axes[1].inverse(y / PLANE)],
  };
}

function tableOf(axis: Axis): Uint16Array {
  const table = new Uint16Array(PLANE + 1);
  for (let value = 0; value <= PLANE; value++) table[value] = Math.round(PLANE * axis.forward(value));
  return table;
}

const layouts = new WeakMap<Uint16Array, QuantileLayout>();

/** The same, computed once per array of positions. */
export function cachedQuantileLayout(positions: Uint16Array): QuantileLayout {
  let layout = layouts.get(positions);
  if (!layout) layouts.set(positions, (layout = quantileLayout(positions)));
  return layout;
}

const PIECE = PLANE / 128; // length of the pieces of a transformed edge

/** A polygon in other coordinates. Straight edges become curves there, approximated by short pieces. */
export function warpPolygon(polygon: Polygon, transform: Transform): Polygon {
  return polygon.flatMap(([ax, ay], i) => {
    const [bx, by] = polygon[(i + 1) % polygon.length];
    const pieces = Math.max(1, Math.ceil(Math.hypot(bx - ax, by - ay) / PIECE));
    return Array.from({ length: pieces }, (_, piece) =>
      transform(ax + ((bx - ax) * piece) / pieces, ay + ((by - ay) * piece) / pieces),
    );
  });
}

/** Ticks of a quantile layout, labeled with the values that its positions stand for. */
export const layoutTicks = ({ axes }: QuantileLayout, { x, y, step }: PositionScale): Ticks =>
  axisTicks([valueAxis(axes[0], x, step), valueAxis(axes[1], y, step)]);

/** Ticks of two quantile axes. An axis is `lengths` times as long as the plane, and centered on it. */
export const axisTicks =
  ([axisX, axisY]: [Axis, Axis], lengths: readonly [number, number] = [1, 1]): Ticks =>
  (camera, size) => {
    const [left, top] = toPlane(camera, size, 0, 0);
    const [right, bottom] = toPlane(camera, size, size.width, size.height);
    const toAxis = (coordinate: number, length: number) => (coordinate / PLANE - 0.5) / length + 0.5;
    const fromAxis = (position: number, length: number) => PLANE * ((position - 0.5) * length + 0.5);
    const tickCount = (pixels: number) => (pixels > 600 ? 8 : 4);
    const ticksX = quantileTicks(axisX, toAxis(left, lengths[0]), toAxis(right, lengths[0]), tickCount(size.width));
    const ticksY = quantileTicks(axisY, toAxis(bottom, lengths[1]), toAxis(top, lengths[1]), tickCount(size.height));
    return {
      across: ticksX.map(({ position, label }) => ({
        at: toScreen(camera, size, fromAxis(position, lengths[0]), 0)[0],
        label,
      })),
      up: ticksY.map(({ position, label }) => ({
        at: toScreen(camera, size, 0, fromAxis(position, lengths[1]))[1],
        label,
      })),
    };
  };

/** An axis of coordinates as an axis of the values they stand for. */
const valueAxis = (axis: Axis, center: number, step: number): Axis => ({
  forward: (value) => axis.forward(encodePosition(value, center, step)),
  inverse: (position) => decodePosition(axis.inverse(position), center, step),
});
