import { expect, it } from "vitest";
import { TOP } from "../lib/encoding";
import { random } from "./fixtures";
import { contains, MAX_CORNERS, readPolygon, simplified, writePolygon, type Polygon } from "./polygon";

const circle = (corners: number): Polygon =>
  Array.from({ length: corners }, (_, i) => {
    const angle = (2 * Math.PI * i) / corners;
    return [30_000 + 20_000 * Math.cos(angle), 30_000 + 20_000 * Math.sin(angle)] as const;
  });

it("keeps its shape with fewer corners", () => {
  const drawn = circle(700);
  const simple = simplified(drawn)!;
  expect(simple.length).toBeLessThanOrEqual(MAX_CORNERS);
  const next = random(5);
  let different = 0;
  for (let i = 0; i < 5_000; i++) {
    const [x, y] = [next() * TOP, next() * TOP];
    if (contains(simple, x, y) !== contains(drawn, x, y)) different++;
  }
  expect(different / 5_000).toBeLessThan(0.01);
});

it("loses corners that do not change it", () => {
  const square = simplified([
    [0, 0],
    [500, 0],
    [1_000, 0],
    [1_000, 1_000],
    [500, 1_000],
    [0, 1_000],
  ]);
  expect(square).toEqual([
    [0, 0],
    [1_000, 0],
    [1_000, 1_000],
    [0, 1_000],
  ]);
});

it("is null without an area", () => {
  expect(simplified([])).toBeNull();
  expect(
    simplified([
      [5, 5],
      [900, 900],
    ]),
  ).toBeNull();
  expect(
    simplified([
      [0, 0],
      [500, 500],
      [1_000, 1_000],
    ]),
  ).toBeNull();
  expect(
    simplified(
      [
        [10, 10],
        [12, 10],
        [12, 12],
      ],
      50,
    ),
  ).toBeNull();
});

it("can be written to a URL and read back", () => {
  for (const corners of [3, 17, 40]) {
    const polygon = simplified(circle(corners))!;
    const text = writePolygon(polygon);
    expect(text).toMatch(/^[0-9a-z]+$/);
    expect(text).toHaveLength(6 * polygon.length);
    expect(readPolygon(text)).toEqual(polygon);
  }
  const edges: Polygon = [
    [0, 0],
    [TOP, 0],
    [TOP, TOP],
  ];
  expect(readPolygon(writePolygon(edges))).toEqual(edges);
});

it("is null if the URL is not valid", () => {
  const invalid = [
    "",
    "abc",
    "000000000000",
    "zzzzzzzzzzzzzzzzzz",
    "ABCDEFABCDEFABCDEF",
    "0".repeat(6 * 41),
    null,
    undefined,
  ];
  for (const text of invalid) expect(readPolygon(text)).toBeNull();
});
