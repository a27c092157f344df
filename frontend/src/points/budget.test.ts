import { describe, expect, it } from "vitest";
import { Budget, nextSampleSize, FRAME, Pass, sampleBatches } from "./budget";
import { layerStyle, packed, sampleStyle, styleFor } from "./style";
import type { Run } from "./order";

describe("the budget", () => {
  /** Draws on a machine with a cost per frame and per point until the budget is stable; returns the time per frame. */
  const settle = (budget: Budget, perPoint: number, fixed: number, total = Infinity) => {
    for (let i = 0; i < 60; i++) {
      const drawn = Math.min(total, budget.count);
      budget.update(drawn, fixed + drawn * perPoint);
    }
    return fixed + Math.min(total, budget.count) * perPoint;
  };

  it.each([
    [0.002, 5],
    [0.0005, 12],
    [0.00002, 4],
  ])("fills a frame at %d ms per point", (perPoint, fixed) => {
    const time = settle(new Budget(), perPoint, fixed);
    expect(time).toBeGreaterThan(0.85 * FRAME);
    expect(time).toBeLessThan(1.1 * FRAME);
  });

  it("adapts to a machine that becomes slower, and faster again", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const fast = budget.count;
    expect(settle(budget, 0.004, 3)).toBeLessThan(1.1 * FRAME);
    expect(budget.count).toBeLessThan(fast / 4);
    settle(budget, 0.0005, 3);
    expect(budget.count).toBeGreaterThan(0.8 * fast);
  });

  it("does not shrink after small drawings", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const before = budget.count;
    budget.update(50, 8);
    expect(budget.count).toBe(before);
  });

  it("keeps its minimum when other work fills the frame", () => {
    const other = new Budget();
    settle(other, 0.001, 3);
    const budget = new Budget(FRAME, () => other.count / 2);
    settle(budget, 0.001, 60);
    expect(budget.count).toBe(Math.round(other.count / 2));
  });

  it("shrinks by less than half after one slow frame", () => {
    const budget = new Budget();
    settle(budget, 0.0005, 3);
    const before = budget.count;
    budget.update(before, 2_000);
    expect(budget.count).toBeGreaterThan(before / 2);
  });
});

it("samples grow to all points in a few steps", () => {
  for (const total of [1, 5_000, 100_000, 1_000_000, 20_000_000]) {
    let drawn = Math.min(total, 30_000);
    let steps = 0;
    let work = 0;
    while (drawn < total) {
      const next = nextSampleSize(drawn, total);
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

it("a sample has the same share of every panel and all selected points if they are few", () => {
  const batches = sampleBatches(runs, 10_300);
  expect(batches.map((batch) => batch.count)).toEqual([6_000, 3_000, 1_000, 300]);
  expect(batches.map((batch) => batch.total)).toEqual(runs.map((run) => run.count));
  const manySelected = sampleBatches([runs[0], { panel: 0, layer: 2, first: 60_000, count: 60_000 }], 10_000);
  expect(manySelected.map((batch) => batch.count)).toEqual([5_000, 5_000]);
  expect(sampleBatches(runs, Infinity).map((batch) => batch.count)).toEqual(runs.map((run) => run.count));
  expect(sampleBatches(runs, 3).every((batch) => batch.count >= 1)).toBe(true);
  expect(sampleBatches([], 100)).toEqual([]);
});

it("a pass draws every point once, in order", () => {
  const pass = new Pass(sampleBatches(runs, Infinity));
  let next = 0;
  while (!pass.done) {
    const drawn = pass.advance(7_777, (_, first, count) => {
      expect(first).toBe(next);
      next += count;
    });
    expect(drawn).toBeLessThanOrEqual(7_777);
  }
  expect(next).toBe(pass.total);
  expect(pass.total).toBe(100_300);
  expect(new Pass([]).done).toBe(true);
  expect(new Pass(sampleBatches(runs, Infinity)).advance(Infinity, () => {})).toBe(100_300);
});

it("points are larger and more opaque if they are fewer or have more space", () => {
  const styles = [10, 1_000, 100_000, 10_000_000].map((count) => styleFor(count, 700));
  for (let i = 1; i < styles.length; i++) {
    expect(styles[i].size).toBeLessThanOrEqual(styles[i - 1].size);
    expect(styles[i].alpha).toBeLessThanOrEqual(styles[i - 1].alpha);
  }
  expect(styleFor(100_000, 7_000).size).toBeGreaterThan(styleFor(100_000, 700).size);
  const style = styleFor(1_000, 700);
  expect(layerStyle(style, 0).alpha).toBeLessThan(style.alpha);
  expect(layerStyle(style, 2).size).toBeGreaterThan(style.size);
});

it("a sample has as much ink as all points, within the limit of size", () => {
  const style = { size: 2, alpha: 0.3 };
  const ink = ({ alpha, size }: typeof style, share: number) => share * alpha * size ** 2;
  for (const fraction of [1, 0.5, 0.2])
    expect(ink(sampleStyle(style, fraction), fraction)).toBeCloseTo(ink(style, 1), 6);
  expect(sampleStyle(style, 1)).toEqual(style);
  expect(sampleStyle(style, 0.0001).size).toBeLessThanOrEqual(2.6 * style.size);
});

it("packs colors, opacities and marks, and fills up the row with the last entry", () => {
  const table = packed(Uint8Array.of(1, 2, 3, 255, 9, 8, 7, 128), Uint8Array.of(0, 3));
  expect(table).toHaveLength(1_024);
  expect([...table.subarray(0, 8)]).toEqual([1, 2, 3, 252, 9, 8, 7, 131]);
  expect([...table.subarray(1_020)]).toEqual([9, 8, 7, 131]);
  expect(packed(new Uint8Array(4 * 300), null)).toHaveLength(2 * 1_024);
});
