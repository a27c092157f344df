import { expect, it } from "vitest";
import { UNPLACED } from "../lib/encoding";
import { DIMMED, HIDDEN, SELECTED } from "./style";
import { drawingOrder, gatherKeys, gatherPairs, members, shuffled } from "./order";
import { cloud } from "./fixtures";

it.each([0, 1, 2, 1_000, 100_000])("a shuffle of %i has every number once and is reproducible", (count) => {
  const order = shuffled(count, 7);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i + 7));
  expect(shuffled(count, 7)).toEqual(order);
});

it("the first part of a shuffle is a random sample", () => {
  const count = 100_000;
  const order = shuffled(count);
  for (const part of [1_000, 10_000, 50_000]) {
    const deciles = new Array<number>(10).fill(0); // of the original order, which is that of the examples
    for (const point of order.subarray(0, part)) deciles[Math.floor((point * 10) / count)]++;
    const expected = part / 10;
    const chi2 = deciles.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi2).toBeLessThan(27.9); // p = 0.001 with 9 degrees of freedom
  }
});

it("no group is always on top of another", () => {
  const order = shuffled(100_000);
  const ranks = new Float64Array(2); // sums for even and odd points
  order.forEach((point, rank) => (ranks[point % 2] += rank));
  expect(ranks[0] / (ranks[0] + ranks[1])).toBeCloseTo(0.5, 2);
});

it("puts dimmed points behind, selected ones in front, and leaves out hidden and unplaced ones", () => {
  const positions = cloud(5_000);
  const state = Uint8Array.from({ length: 5_000 }, (_, i) => [0, DIMMED, SELECTED, HIDDEN, 0][i % 5]);
  const { points, runs } = drawingOrder([members(null, 5_000)], positions, state);
  expect(runs.map((run) => run.layer)).toEqual([0, 1, 2]);
  const expected = [DIMMED, 0, SELECTED];
  const seen = new Set<number>();
  for (const run of runs)
    for (const point of points.subarray(run.first, run.first + run.count)) {
      expect(state[point]).toBe(expected[run.layer]);
      expect(positions[2 * point]).not.toBe(UNPLACED);
      seen.add(point);
    }
  const drawn = [...state.keys()].filter((i) => positions[2 * i] !== UNPLACED && state[i] !== HIDDEN);
  expect(seen).toEqual(new Set(drawn));
  expect(points).toHaveLength(drawn.length);
});

it("has a run for every panel: of a range, of a list, of all points", () => {
  const positions = cloud(1_000);
  const list = Uint32Array.of(3, 500, 3, 700);
  const lists = [members({ first: 100, count: 50 }, 1_000), members(list, 1_000), members(null, 1_000)];
  const { points, runs } = drawingOrder(lists, positions, null);
  const panel = (index: number) =>
    [...points.subarray(runs[index].first, runs[index].first + runs[index].count)].sort((a, b) => a - b);
  expect(panel(0)).toEqual(Array.from({ length: 50 }, (_, i) => 100 + i).filter((i) => i !== 199 && i % 100 !== 99));
  expect(panel(1)).toEqual([3, 3, 500, 700]);
  expect(panel(2)).toHaveLength(990);
  expect([...list]).toEqual([3, 500, 3, 700]); // not modified
});

it("gathers positions and keys in drawing order, with any memory alignment", () => {
  const positions = cloud(64);
  const shifted = new Uint16Array(2 * 64 + 1);
  shifted.set(positions, 1);
  const order = shuffled(64);
  for (const pairs of [positions, shifted.subarray(1)]) {
    const out = gatherPairs(pairs, order);
    order.forEach((point, i) =>
      expect([...out.subarray(2 * i, 2 * i + 2)]).toEqual([...positions.subarray(2 * point, 2 * point + 2)]),
    );
  }
  expect([
    ...gatherKeys(
      Uint8Array.from({ length: 64 }, (_, i) => i),
      order,
    ),
  ]).toEqual([...order]);
});
