import { describe, expect, it } from "vitest";
import { Budget, finer, FRAME, Pass, strokes } from "./budget";
import { layered, packed, standingFor, styleFor } from "./style";
import type { Run } from "./order";

describe("the budget", () => {
  /** A machine with a fixed cost for each frame and a rate. */
  const settle = (budget: Budget, perPoint: number, fixed: number, total = Infinity) => {
    for (let i = 0; i < 60; i++) {
      const drawn = Math.min(total, budget.count);
      budget.learn(drawn, fixed + drawn * perPoint);
    }
    return fixed + Math.min(total, budget.count) * perPoint;
  };

  it.each([
    [0.002, 5],
    [0.0005, 12],
    [0.00002, 4],
  ])("comes to fill a frame at %d ms a point", (perPoint, fixed) => {
    const taken = settle(new Budget(), perPoint, fixed);
    expect(taken).toBeGreaterThan(0.85 * FRAME);
    expect(taken).toBeLessThan(1.1 * FRAME);
  });

  it("follows a machine that becomes slower, and faster again", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const fast = budget.count;
    expect(settle(budget, 0.004, 3)).toBeLessThan(1.1 * FRAME);
    expect(budget.count).toBeLessThan(fast / 4);
    settle(budget, 0.0005, 3);
    expect(budget.count).toBeGreaterThan(0.8 * fast);
  });

  it("does not shrink because few points were asked for", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const before = budget.count;
    budget.learn(50, 8);
    expect(budget.count).toBe(before);
  });

  it("keeps its least when other work fills the frame: fewer points would not help", () => {
    const other = new Budget();
    settle(other, 0.001, 3);
    const budget = new Budget(FRAME, () => other.count / 2);
    settle(budget, 0.001, 60);
    expect(budget.count).toBe(Math.round(other.count / 2));
  });

  it("one hiccup costs less than half", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const before = budget.count;
    budget.learn(before, 2_000);
    expect(budget.count).toBeGreaterThan(before / 2);
  });
});

it("pictures become finer in a few steps and end with all points", () => {
  for (const total of [1, 5_000, 100_000, 1_000_000, 20_000_000]) {
    let drawn = Math.min(total, 30_000);
    let steps = 0;
    let work = 0;
    while (drawn < total) {
      const next = finer(drawn, total);
      expect(next).toBeGreaterThan(drawn);
      work += drawn = next;
      steps++;
    }
    expect(drawn).toBe(total);
    expect(steps).toBeLessThanOrEqual(5);
    expect(work).toBeLessThan(1.45 * total);
  }
});

const runs: Run[] = [
  { panel: 0, layer: 0, first: 0, count: 60_000 },
  { panel: 1, layer: 0, first: 60_000, count: 30_000 },
  { panel: 0, layer: 1, first: 90_000, count: 10_000 },
  { panel: 1, layer: 2, first: 100_000, count: 300 },
];

it("a sample is the same share of every panel, and holds all of the few that are selected", () => {
  const list = strokes(runs, 10_300);
  expect(list.map((stroke) => stroke.count)).toEqual([6_000, 3_000, 1_000, 300]);
  expect(list.map((stroke) => stroke.whole)).toEqual(runs.map((run) => run.count));
  const many = strokes([runs[0], { panel: 0, layer: 2, first: 60_000, count: 60_000 }], 10_000);
  expect(many.map((stroke) => stroke.count)).toEqual([5_000, 5_000]);
  expect(strokes(runs, Infinity).map((stroke) => stroke.count)).toEqual(runs.map((run) => run.count));
  expect(strokes(runs, 3).every((stroke) => stroke.count >= 1)).toBe(true);
  expect(strokes([], 100)).toEqual([]);
});

it("a pass in slices draws each point once, in order", () => {
  const pass = new Pass(strokes(runs, Infinity));
  let at = 0;
  while (!pass.done) {
    const drawn = pass.advance(7_777, (_, first, count) => {
      expect(first).toBe(at);
      at += count;
    });
    expect(drawn).toBeLessThanOrEqual(7_777);
  }
  expect(at).toBe(pass.total);
  expect(pass.total).toBe(100_300);
  expect(new Pass([]).done).toBe(true);
  expect(new Pass(strokes(runs, Infinity)).advance(Infinity, () => {})).toBe(100_300);
});

it("fewer points are larger and more opaque, and so are points with more room", () => {
  const counts = [10, 1_000, 100_000, 10_000_000].map((count) => styleFor(count, 700));
  for (let i = 1; i < counts.length; i++) {
    expect(counts[i].size).toBeLessThanOrEqual(counts[i - 1].size);
    expect(counts[i].alpha).toBeLessThanOrEqual(counts[i - 1].alpha);
  }
  expect(styleFor(100_000, 7_000).size).toBeGreaterThan(styleFor(100_000, 700).size);
  const style = styleFor(1_000, 700);
  expect(layered(style, 0).alpha).toBeLessThan(style.alpha);
  expect(layered(style, 2).size).toBeGreaterThan(style.size);
});

it("a sample leaves as much ink as all points, as far as size allows", () => {
  const style = { size: 2, alpha: 0.3 };
  const ink = (one: typeof style, share: number) => share * one.alpha * one.size ** 2;
  for (const fraction of [1, 0.5, 0.2])
    expect(ink(standingFor(style, fraction), fraction)).toBeCloseTo(ink(style, 1), 6);
  expect(standingFor(style, 1)).toEqual(style);
  expect(standingFor(style, 0.0001).size).toBeLessThanOrEqual(2.6 * style.size);
});

it("packs colours, opacities and marks, and fills the row with the last entry", () => {
  const table = packed(Uint8Array.of(1, 2, 3, 255, 9, 8, 7, 128), Uint8Array.of(0, 3));
  expect(table).toHaveLength(1_024);
  expect([...table.subarray(0, 8)]).toEqual([1, 2, 3, 252, 9, 8, 7, 131]);
  expect([...table.subarray(1_020)]).toEqual([9, 8, 7, 131]);
  expect(packed(new Uint8Array(4 * 300), null)).toHaveLength(2 * 1_024);
});
