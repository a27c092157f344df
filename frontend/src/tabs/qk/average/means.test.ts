import { expect, it } from "vitest";
import type { Average, Means } from "../../../lib/api";
import { bestOf, cellOf, encoded, known, placeLines, placeName, ticksTo, topOf } from "./means";

const means = (values: (number | null)[], rest: Partial<Means> = {}): Means => ({
  rows: 1,
  columns: values.length,
  first_row: 0,
  first_column: -1,
  mean: values,
  low: values.map(() => null),
  high: values.map(() => null),
  sources: values.map(() => 30),
  even: values.map(() => 0.1),
  ...rest,
});
const average = (rest: Partial<Average>): Average => ({
  layer: 0,
  head: 0,
  method: "maps",
  examples: 30,
  sources: 30,
  note: "",
  offsets: null,
  positions: null,
  special: null,
  ...rest,
});

it("names places of texts and of images", () => {
  const grid = means([0, 0, 0, 0, 0, 0], { rows: 2, columns: 3, first_row: -1, first_column: -1 });
  expect([0, 5].map((place) => cellOf(grid, place))).toEqual([
    [-1, -1],
    [0, 1],
  ]);
  expect(placeName(grid, 0, "offsets", true)).toBe("the patch 1 row up and 1 column left");
  expect(placeName(means([0, 0]), 0, "offsets", false)).toBe("the previous token");
  expect(placeName(means([0, 0], { first_column: 0 }), 1, "positions", false)).toBe("the token at position 1");
});

it("says over how many texts a mean is", () => {
  const values = means([0.5, null], { low: [0.4, null], high: [0.6, null] });
  expect(placeLines(values, 0, "text")).toEqual([
    "0.50 [0.40,\u00a00.60] of attention",
    "0.10 if attention were even",
    "over 30 texts",
  ]);
  expect(placeLines(values, 1, "text")).toEqual(["no text is long enough"]);
  expect(placeLines(means([0.5]), 0, "text")[2]).toBe("over 30 texts, too few for an interval");
});

it("cuts off places that no text has, and scales by what is drawn", () => {
  const values = means([null, 0.25, 0.1, null, null], { high: [null, 0.3, 0.2, null, null] });
  expect(known(values)).toMatchObject({ columns: 3, mean: [null, 0.25, 0.1] });
  expect(topOf(values)).toBe(0.3);
  expect([...encoded(means([0, 0.25, 1, null]))]).toEqual([0, 32768, 65535, 0]);
});

it("finds what a head attends to most", () => {
  const offsets = means([0.2, 0.3]);
  const positions = means([0.4, 0.1], { first_column: 0 });
  expect(bestOf(average({ offsets, positions }), [], false)?.name).toBe("the token at position 0");
  expect(bestOf(average({ offsets, special: means([0.1, 0.5]) }), ["[CLS]", "[REG]"], true)?.name).toBe("[REG]");
  expect(bestOf(average({}), [], false)).toBeNull();
});

it("puts round numbers at an axis", () => {
  expect(ticksTo(0.93)).toEqual([0, 0.25, 0.5, 0.75]);
  expect(ticksTo(0.043)).toEqual([0, 0.02, 0.04]);
});
