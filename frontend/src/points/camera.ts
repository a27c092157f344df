// The camera of a scatter plot: its center in the plane (0 to TOP, y upwards) and its zoom. At zoom 1 the shorter side of
// the view shows the whole plane.
import { TOP } from "../lib/encoding";
import { clamp } from "../lib/math";

export type Camera = readonly [x: number, y: number, zoom: number];

export interface Size {
  width: number;
  height: number;
}

/** The smallest and largest coordinates of points. */
export interface Bounds {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

export const PLANE = TOP; // length of its sides
export const WHOLE: Camera = [PLANE / 2, PLANE / 2, 1];
const MAX_ZOOM = 256; // neighboring coordinates are then a few pixels apart
const MIN_ZOOM = 0.25;

/** A camera whose center is at most half a plane outside of the plane. */
export const limited = ([x, y, zoom]: Camera): Camera => [
  clamp(x, -PLANE / 2, 1.5 * PLANE),
  clamp(y, -PLANE / 2, 1.5 * PLANE),
  clamp(zoom, MIN_ZOOM, MAX_ZOOM),
];

/** Pixels per unit of the plane. */
export const scaleOf = (camera: Camera, size: Size) => (camera[2] * Math.min(size.width, size.height)) / PLANE;

/** The pixel, from the upper left corner, of a point in the plane. */
export function toScreen(camera: Camera, size: Size, x: number, y: number): [number, number] {
  const scale = scaleOf(camera, size);
  return [size.width / 2 + (x - camera[0]) * scale, size.height / 2 - (y - camera[1]) * scale];
}

/** The point in the plane at a pixel. */
export function toPlane(camera: Camera, size: Size, x: number, y: number): [number, number] {
  const scale = scaleOf(camera, size);
  return [camera[0] + (x - size.width / 2) / scale, camera[1] - (y - size.height / 2) / scale];
}

/** The camera after a drag by some pixels. */
export function panned(camera: Camera, size: Size, dx: number, dy: number): Camera {
  const scale = scaleOf(camera, size);
  return limited([camera[0] - dx / scale, camera[1] + dy / scale, camera[2]]);
}

/** The camera after zooming by a factor; the point at the pixel stays in place. */
export function zoomed(camera: Camera, size: Size, factor: number, x: number, y: number): Camera {
  const zoom = clamp(camera[2] * factor, MIN_ZOOM, MAX_ZOOM);
  const [px, py] = toPlane(camera, size, x, y);
  const ratio = camera[2] / zoom; // of the distances to that point
  return limited([px + (camera[0] - px) * ratio, py + (camera[1] - py) * ratio, zoom]);
}

/** The camera that shows all points, with a margin in pixels. */
export function fitted(bounds: Bounds | null, size: Size, margin = 28): Camera {
  if (bounds === null) return WHOLE;
  const side = Math.min(size.width, size.height);
  const usable = Math.max(1, side - 2 * margin) / side; // share of the shorter side
  const width = Math.max(1, bounds.right - bounds.left) / PLANE;
  const height = Math.max(1, bounds.top - bounds.bottom) / PLANE;
  const zoom = usable * Math.min(size.width / side / width, size.height / side / height);
  // a single point, or a few at the same position, are not enlarged without limit
  return limited([(bounds.left + bounds.right) / 2, (bounds.bottom + bounds.top) / 2, Math.min(zoom, 8)]);
}

/** The camera as a URL parameter: `31000,40250,2.5`. */
export const writeCamera = (camera: Camera) =>
  `${Math.round(camera[0])},${Math.round(camera[1])},${Number(camera[2].toPrecision(4))}`;

/** The camera of a URL parameter; null if it is not valid. */
export function readCamera(text: string | null | undefined): Camera | null {
  const parts = (text ?? "").split(",");
  if (parts.length !== 3 || parts.some((part) => !/^-?\d{1,6}(\.\d{1,8})?$/.test(part))) return null;
  const [x, y, zoom] = parts.map(Number);
  return zoom > 0 ? limited([x, y, zoom]) : null;
}
