import { UNPLACED } from "../lib/encoding";
import { expect, it } from "vitest";
import { DIMMED, HIDDEN, SELECTED } from "./style";
import { arranged, gatherKeys, gatherPairs, members, shuffled } from "./order";
import { cloud } from "./fixtures";

it.each([0, 1, 2, 1_000, 100_000])("a shuffle of %i holds every number once, the same every time", (count) => {
  const order = shuffled(count, 7);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i + 7));
  expect(shuffled(count, 7)).toEqual(order);
});

it("the beginning of a shuffle is a fair sample", () => {
  const count = 100_000;
  const order = shuffled(count);
  for (const part of [1_000, 10_000, 50_000]) {
    const cells = new Array<number>(10).fill(0); // by place in the original order, as examples follow one another
    for (const point of order.subarray(0, part)) cells[Math.floor((point * 10) / count)]++;
    const expected = part / 10;
    const chi = cells.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(27.9); // 9 degrees of freedom: exceeded by one in a thousand
  }
});

it("no group lies always above another", () => {
  const order = shuffled(100_000);
  const last = new Float64Array(2);
  order.forEach((point, at) => (last[point % 2] += at));
  const above = last[0] / (last[0] + last[1]);
  expect(above).toBeCloseTo(0.5, 2);
});

it("puts dimmed points behind, selected ones in front, and leaves out what is not drawn", () => {
  const positions = cloud(5_000);
  const state = Uint8Array.from({ length: 5_000 }, (_, i) => [0, DIMMED, SELECTED, HIDDEN, 0][i % 5]);
  const { order, runs } = arranged([members(null, 5_000)], positions, state);
  expect(runs.map((run) => run.layer)).toEqual([0, 1, 2]);
  const expected = [DIMMED, 0, SELECTED];
  const seen = new Set<number>();
  for (const run of runs)
    for (const point of order.subarray(run.first, run.first + run.count)) {
      expect(state[point]).toBe(expected[run.layer]);
      expect(positions[2 * point]).not.toBe(UNPLACED);
      seen.add(point);
    }
  const drawn = [...state.keys()].filter((i) => positions[2 * i] !== UNPLACED && state[i] !== HIDDEN);
  expect(seen).toEqual(new Set(drawn));
  expect(order).toHaveLength(drawn.length);
});

it("gives every panel its own run: of a slice, of a list, of all", () => {
  const positions = cloud(1_000);
  const list = Uint32Array.of(3, 500, 3, 700);
  const lists = [members({ first: 100, count: 50 }, 1_000), members(list, 1_000), members(null, 1_000)];
  const { order, runs } = arranged(lists, positions, null);
  const panel = (at: number) =>
    [...order.subarray(runs[at].first, runs[at].first + runs[at].count)].sort((a, b) => a - b);
  expect(panel(0)).toEqual(Array.from({ length: 50 }, (_, i) => 100 + i).filter((i) => i !== 199 && i % 100 !== 99));
  expect(panel(1)).toEqual([3, 3, 500, 700]);
  expect(panel(2)).toHaveLength(990);
  expect([...list]).toEqual([3, 500, 3, 700]); // untouched
});

it("gathers positions and keys in drawn order, whatever their place in memory", () => {
  const positions = cloud(64);
  const shifted = new Uint16Array(2 * 64 + 1);
  shifted.set(positions, 1);
  const order = shuffled(64);
  for (const pairs of [positions, shifted.subarray(1)]) {
    const out = gatherPairs(pairs, order);
    order.forEach((point, at) =>
      expect([...out.subarray(2 * at, 2 * at + 2)]).toEqual([...positions.subarray(2 * point, 2 * point + 2)]),
    );
  }
  expect([
    ...gatherKeys(
      Uint8Array.from({ length: 64 }, (_, i) => i),
      order,
    ),
  ]).toEqual([...order]);
});
