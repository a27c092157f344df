import { expect, it } from "vitest";
import {
  fitted,
  limited,
  panned,
  PLANE,
  readCamera,
  scaleOf,
  toPlane,
  toScreen,
  WHOLE,
  writeCamera,
  zoomed,
  type Camera,
} from "./camera";

const size = { width: 900, height: 600 };
const cameras: Camera[] = [WHOLE, [20_000, 41_000, 3.7], [60_000, 800, 40], [-900, 70_000, 0.5]];

it.each(cameras)("converts points to pixels and back: %d %d %d", (...camera) => {
  const [x, y] = toScreen(camera, size, 12_345, 54_321);
  const back = toPlane(camera, size, x, y);
  expect(back[0]).toBeCloseTo(12_345, 5);
  expect(back[1]).toBeCloseTo(54_321, 5);
  expect(toScreen(camera, size, camera[0], camera[1])).toEqual([450, 300]);
});

it("fits the plane into the shorter side, y upwards", () => {
  expect(toScreen(WHOLE, size, 0, 0)).toEqual([150, 600]);
  expect(toScreen(WHOLE, size, PLANE, PLANE)).toEqual([750, 0]);
});

it.each([0.3, 0.9, 1.1, 5])("keeps the point under the pointer in place when zooming by %d", (factor) => {
  const camera: Camera = [30_000, 31_000, 2];
  for (const [x, y] of [
    [450, 300],
    [10, 20],
    [899, 599],
  ]) {
    const point = toPlane(camera, size, x, y);
    const after = toScreen(zoomed(camera, size, factor, x, y), size, ...point);
    expect(after[0]).toBeCloseTo(x, 4);
    expect(after[1]).toBeCloseTo(y, 4);
  }
});

it("stops at the zoom limit and stays in place", () => {
  const camera: Camera = [30_000, 31_000, 200];
  const after = zoomed(camera, size, 1_000, 200, 100);
  expect(after[2]).toBe(256);
  const [x, y] = toScreen(after, size, ...toPlane(camera, size, 200, 100));
  expect(x).toBeCloseTo(200, 3);
  expect(y).toBeCloseTo(100, 3);
  expect(zoomed(after, size, 2, 5, 5)).toEqual(after);
});

it("follows the pointer when dragged", () => {
  const camera: Camera = [30_000, 31_000, 3];
  const point = toPlane(camera, size, 400, 200);
  const [x, y] = toScreen(panned(camera, size, 37, -12), size, ...point);
  expect(x).toBeCloseTo(437, 6);
  expect(y).toBeCloseTo(188, 6);
  expect(panned(camera, size, -1e9, 1e9)).toEqual([1.5 * PLANE, 1.5 * PLANE, 3]);
});

it("fits all points into the view, as large as possible", () => {
  const bounds = { left: 0, bottom: 20_000, right: PLANE, top: 45_534 };
  const camera = fitted(bounds, size, 30);
  const corners = [
    toScreen(camera, size, bounds.left, bounds.top),
    toScreen(camera, size, bounds.right, bounds.bottom),
  ];
  expect(corners[0][1]).toBeGreaterThanOrEqual(29);
  expect(corners[1][1]).toBeLessThanOrEqual(571);
  expect(corners[1][0] - corners[0][0]).toBeGreaterThan(700);
  expect(corners[0][0]).toBeGreaterThan(0);
  expect(fitted(null, size)).toEqual(WHOLE);
  expect(fitted({ left: 9, bottom: 9, right: 9, top: 9 }, size)[2]).toBe(8);
});

it("can be written to a URL and read back", () => {
  for (const camera of cameras) {
    const back = readCamera(writeCamera(camera))!;
    expect(Math.abs(back[0] - camera[0])).toBeLessThanOrEqual(0.5);
    expect(back[2]).toBeCloseTo(camera[2], 2);
    expect(writeCamera(back)).toBe(writeCamera(camera));
  }
  for (const invalid of [
    "",
    "1,2",
    "1,2,3,4",
    "a,b,c",
    "1,2,0",
    "1,2,-3",
    "1e9,1,1",
    "--1,1,1",
    null,
    undefined,
    "NaN,1,1",
  ])
    expect(readCamera(invalid)).toBeNull();
  expect(readCamera("999999,5,9999")).toEqual(limited([999_999, 5, 9_999]));
});

it("has a scale in pixels per unit of the plane", () => {
  expect(scaleOf([0, 0, 2], { width: 500, height: 200 })).toBeCloseTo(400 / PLANE, 12);
});
