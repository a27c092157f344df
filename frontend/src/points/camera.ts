// Where one looks: the middle of the picture in the plane (0 to 65534, y upwards) and how far it is enlarged. At zoom 1
// the whole plane fits into the shorter side.
import { TOP } from "../lib/encoding";

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

export const PLANE = TOP;
export const WHOLE: Camera = [PLANE / 2, PLANE / 2, 1];
const NEAREST = 256; // one step of a coordinate is then a few pixels: nothing more is to be seen closer
const FARTHEST = 0.25;

const between = (low: number, value: number, high: number) => Math.min(high, Math.max(low, value));

/** A camera that is not lost: its middle is at most half a plane away from the plane. */
export const limited = ([x, y, zoom]: Camera): Camera => [
  between(-PLANE / 2, x, 1.5 * PLANE),
  between(-PLANE / 2, y, 1.5 * PLANE),
  between(FARTHEST, zoom, NEAREST),
];

/** Pixels for one step of the plane. */
export const scaleOf = (camera: Camera, size: Size) => (camera[2] * Math.min(size.width, size.height)) / PLANE;

/** The pixel, from the upper left corner, of a place in the plane. */
export function toScreen(camera: Camera, size: Size, x: number, y: number): [number, number] {
  const scale = scaleOf(camera, size);
  return [size.width / 2 + (x - camera[0]) * scale, size.height / 2 - (y - camera[1]) * scale];
}

/** The place in the plane of a pixel. */
export function toPlane(camera: Camera, size: Size, x: number, y: number): [number, number] {
  const scale = scaleOf(camera, size);
  return [camera[0] + (x - size.width / 2) / scale, camera[1] - (y - size.height / 2) / scale];
}

/** The picture is moved by so many pixels. */
export function panned(camera: Camera, size: Size, dx: number, dy: number): Camera {
  const scale = scaleOf(camera, size);
  return limited([camera[0] - dx / scale, camera[1] + dy / scale, camera[2]]);
}

/** Nearer or farther; what is at the pixel stays there. */
export function zoomed(camera: Camera, size: Size, factor: number, x: number, y: number): Camera {
  const zoom = between(FARTHEST, camera[2] * factor, NEAREST);
  const [px, py] = toPlane(camera, size, x, y);
  const share = camera[2] / zoom; // of the distance to that place
  return limited([px + (camera[0] - px) * share, py + (camera[1] - py) * share, zoom]);
}

/** All points, with some margin. */
export function fitted(bounds: Bounds | null, size: Size, margin = 28): Camera {
  if (bounds === null) return WHOLE;
  const side = Math.min(size.width, size.height);
  const room = Math.max(1, side - 2 * margin) / side; // the share of the shorter side that points may fill
  const wide = Math.max(1, bounds.right - bounds.left) / PLANE;
  const high = Math.max(1, bounds.top - bounds.bottom) / PLANE;
  const zoom = room * Math.min(size.width / side / wide, size.height / side / high);
  // a single point, or a few alike, should not be looked at through a microscope
  return limited([(bounds.left + bounds.right) / 2, (bounds.bottom + bounds.top) / 2, Math.min(zoom, 8)]);
}

/** For an address: `31000,40250,2.5`. */
export const writeCamera = (camera: Camera) =>
  `${Math.round(camera[0])},${Math.round(camera[1])},${Number(camera[2].toPrecision(4))}`;

/** What an address says, or null where it says nothing that can be used. */
export function readCamera(text: string | null | undefined): Camera | null {
  const parts = (text ?? "").split(",");
  if (parts.length !== 3 || parts.some((part) => !/^-?\d{1,6}(\.\d{1,8})?$/.test(part))) return null;
  const [x, y, zoom] = parts.map(Number);
  return zoom > 0 ? limited([x, y, zoom]) : null;
}
