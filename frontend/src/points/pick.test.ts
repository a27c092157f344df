import { describe, expect, it } from "vitest";
import { TOP, UNPLACED } from "../lib/encoding";
import { HIDDEN } from "./style";
import { boundsOf, GridIndex, gridOf } from "./pick";
import type { Polygon } from "./polygon";
import { cloud, random } from "./fixtures";

function slowNearest(positions: Uint16Array, x: number, y: number, radius: number): number {
  let best = Infinity;
  for (let i = 0; i < positions.length; i += 2)
    if (positions[i] !== UNPLACED) best = Math.min(best, Math.hypot(positions[i] - x, positions[i + 1] - y));
  return best <= radius ? best : -1;
}

/** The textbook version of the even-odd rule. */
function contains(polygon: Polygon, x: number, y: number): boolean {
  let inside = false;
  for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
    const [ax, ay] = polygon[a];
    const [bx, by] = polygon[b];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

const slowInside = (positions: Uint16Array, polygon: Polygon) =>
  Uint32Array.from(
    [...Array(positions.length / 2).keys()].filter(
      (i) => positions[2 * i] !== UNPLACED && contains(polygon, positions[2 * i], positions[2 * i + 1]),
    ),
  );

describe.each([1, 7, 500, 20_000])("a grid of %i points", (count) => {
  const positions = cloud(count);
  const grid = new GridIndex(positions);
  const next = random(3);

  it("finds the nearest point", () => {
    for (let trial = 0; trial < 200; trial++) {
      const [x, y, radius] = [next() * 75_000 - 5_000, next() * 75_000 - 5_000, 10 ** (1 + 4 * next())];
      const nearest = grid.nearest(x, y, radius);
      const distance = nearest < 0 ? -1 : Math.hypot(positions[2 * nearest] - x, positions[2 * nearest + 1] - y);
      expect(distance).toBeCloseTo(slowNearest(positions, x, y, radius), 6);
    }
  });

  it("finds the points in polygons, including self-intersecting and degenerate ones", () => {
    for (let trial = 0; trial < 40; trial++) {
      const corners = 3 + Math.floor(next() * 12);
      const spread = trial % 2 ? TOP : 6_000;
      const [x, y] = [next() * (TOP - spread), next() * (TOP - spread)];
      const polygon = Array.from({ length: corners }, () => [x + next() * spread, y + next() * spread] as const);
      expect(grid.inside(polygon)).toEqual(slowInside(positions, polygon));
    }
    const aligned: Polygon = [
      [128, 128],
      [128, 40_960],
      [40_960, 40_960],
      [40_960, 128],
    ]; // with the edges of cells
    expect(grid.inside(aligned)).toEqual(slowInside(positions, aligned));
    expect(
      grid.inside([
        [0, 0],
        [TOP, TOP],
      ]),
    ).toHaveLength(0);
  });
});

it("leaves out unplaced and hidden points", () => {
  const positions = Uint16Array.of(UNPLACED, UNPLACED, 100, 100, 110, 100);
  const grid = new GridIndex(positions);
  expect(grid.nearest(UNPLACED, UNPLACED, 100)).toBe(-1);
  expect(grid.nearest(100, 100, 50)).toBe(1);
  expect(grid.nearest(100, 100, 50, Uint8Array.of(0, HIDDEN, 0))).toBe(2);
  expect([
    ...grid.inside([
      [0, 0],
      [200, 0],
      [200, 200],
      [0, 200],
    ]),
  ]).toEqual([1, 2]);
  expect(new GridIndex(new Uint16Array(0)).nearest(5, 5, 100)).toBe(-1);
});

it("can be restricted to some points", () => {
  const positions = cloud(2_000);
  const members = Uint32Array.from({ length: 500 }, (_, i) => 4 * i + 1).filter((i) => positions[2 * i] !== UNPLACED);
  const all: Polygon = [
    [0, 0],
    [TOP, 0],
    [TOP, TOP],
    [0, TOP],
  ];
  const inside = new GridIndex(positions, members).inside([
    [-1, -1],
    [UNPLACED, -1],
    [UNPLACED, UNPLACED],
    [-1, UNPLACED],
  ]);
  expect(inside).toEqual(members);
  expect(new GridIndex(positions, members).inside(all).length).toBeLessThanOrEqual(members.length);
});

it("is built once per array of positions", () => {
  const positions = cloud(100);
  expect(gridOf(positions)).toBe(gridOf(positions));
  expect(gridOf(positions)).not.toBe(gridOf(positions.slice()));
});

it("computes bounding boxes", () => {
  expect(boundsOf(Uint16Array.of(UNPLACED, UNPLACED, 5, 9, 60_000, 3))).toEqual({
    left: 5,
    bottom: 3,
    right: 60_000,
    top: 9,
  });
  expect(boundsOf(Uint16Array.of(UNPLACED, UNPLACED))).toBeNull();
});
