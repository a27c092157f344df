import { expect, it } from "vitest";
import type { Seen } from "../../examples/reduce";
import { allFlows, arrowShape, destinations, middleOf, strongestFlows } from "./flows";

const unit = (text: string, token: number, special = false) => ({
  text,
  tokens: [token],
  special,
  segment: 0,
  space: false,
});
const units = [unit("[CLS]", 0, true), unit("0,0", 1), unit("0,1", 2), unit("1,0", 3)];
// prettier-ignore
const values = Float32Array.from([
  0.9, 0.1, 0, 0,
  0.1, 0.2, 0.6, 0.1,
  0.6, 0.1, 0.1, 0.2,
  0, 0.3, 0.2, 0.5,
]);
const seen: Seen = { rows: 4, columns: 4, values, queries: units, keys: units, same: true, empty: 0 };
const pairs = (arrows: { from: number; to: number }[]) => arrows.map(({ from, to }) => [from, to]);

it("finds where each patch looks most", () => {
  const { arrows, itself, special } = strongestFlows(seen);
  expect([pairs(arrows), pairs(itself), pairs(special)]).toEqual([[[1, 2]], [[3, 3]], [[2, 0]]]);
});

it("finds where the attention of patches goes", () => {
  const shares = destinations(seen, { special: ["[CLS]"], columns: 2 }); // all patches are next to one another
  expect(shares.itself).toBeCloseTo((0.2 + 0.1 + 0.5) / 3);
  expect(shares.beside).toBeCloseTo((0.7 + 0.3 + 0.5) / 3);
  expect(shares.special).toBeCloseTo((0.1 + 0.6 + 0) / 3);
  expect(shares.farther).toBe(0);
  const line = destinations(seen, { special: ["[CLS]"], columns: 3 }); // the first and the last are two apart
  expect(line.farther).toBeCloseTo((0.1 + 0 + 0.3) / 3);
});

it("finds all flows from a limit on, the strongest last", () => {
  const { arrows, itself, special } = allFlows(seen, 0.2);
  expect(pairs(arrows)).toEqual([
    [3, 2],
    [2, 3],
    [3, 1],
    [1, 2],
  ]);
  expect([pairs(itself), pairs(special)]).toEqual([
    [
      [1, 1],
      [3, 3],
    ],
    [[2, 0]],
  ]);
});

it("places patches after the special tokens, row by row", () => {
  const grid = { special: ["[CLS]"], rows: 2, columns: 4 };
  expect(middleOf(0, grid)).toBeNull();
  expect(middleOf(1, grid)).toEqual([0.125, 0.25]);
  expect(middleOf(8, grid)).toEqual([0.875, 0.75]);
  expect(middleOf(9, grid)).toBeNull();
});

it("draws an arrow up to the middle of the other patch", () => {
  expect(arrowShape([0, 0], [20, 0], 0)).toEqual({ line: "M0.0 0.0L16.0 0.0", head: "M20.0 0.0L16.0 2.0L16.0 -2.0Z" });
});
