import { expect, it } from "vitest";
import type { Comparison, HeadSeries, HeadShift } from "../../lib/api";
import { FULL } from "../../lib/encoding";
import { changedWords, counterpart, differenceText, matchedWords, movedLine, points } from "../../lib/wording";
import { axisTo } from "./axis";
import { amountsBy, byChange, colorOptions } from "./coloring";
import { byStep, pathOf, scaleY } from "./curve";
import { difference, positions, tokensOf, widestOf } from "./maps";
import { allFit, viewOf, viewsFor } from "./views";

const row = (head: number, values: Partial<HeadShift>) =>
  ({ layer: 0, head, changed: null, excess: null, noise: null, differences: [null, 0.1], ...values }) as HeadShift;
const comparison = {
  statistics: [
    { name: "self", plain: "attention to itself", unit: "share" },
    { name: "next", plain: "attention to the next token", unit: "share" },
  ],
} as Comparison;

it("offers to color by what at least one head has", () => {
  const heads = [row(0, { shift: 0.2 }), row(1, { shift: null })];
  const values = colorOptions(comparison, heads).map(({ value }) => value);
  expect(values).toEqual(["shift", "none", "stat:next"]);
  const seeds = colorOptions(comparison, [row(0, { shift: 0.2, excess: 0.1 })]);
  expect(seeds.map(({ value }) => value)).toContain("excess");
  expect(colorOptions(comparison, [row(0, { shift: null })])[0].value).toBe("none");
});

it("starts shifts at 0 and centers differences at it", () => {
  const heads = [row(0, { shift: 0.1, differences: [0.2, 0] }), row(1, { shift: 0.4, differences: [0.5, null] })];
  expect(amountsBy("shift", comparison, heads)).toMatchObject({ low: 0, high: 0.4, scale: "amounts" });
  const amounts = amountsBy("stat:self", comparison, heads)!;
  expect(amounts).toMatchObject({ low: -0.5, high: 0.5, scale: "differences", values: [0.2, 0.5] });
  expect(amountsBy("none", comparison, heads)).toBeNull();
  expect(amountsBy("stat:gone", comparison, heads)).toBeNull();
});

it("ranks heads by what is beyond seeds, those that changed first", () => {
  const heads = [
    row(0, { shift: 0.9, excess: 0.01, changed: false }),
    row(1, { shift: 0.3, excess: 0.2, changed: true }),
    row(2, { shift: null }),
    row(3, { shift: 0.4, excess: 0.3, changed: true }),
  ];
  expect(byChange(heads).map(({ head }) => head)).toEqual([3, 1, 0]);
});

it("subtracts attention, not its square roots", () => {
  const encoded = (...weights: number[]) => Uint16Array.from(weights, (weight) => Math.sqrt(weight) * FULL);
  const map = difference(encoded(0.25, 1, 0), encoded(1, 0.25, 0));
  expect(map[0]).toBeCloseTo(0.75, 4);
  expect(map[1]).toBeCloseTo(-0.75, 4);
  expect(widestOf([map, null])).toBeCloseTo(0.75, 4);
  expect(widestOf([])).toBe(0);
});

it("names parts by tokens, and by where they begin if these are not known", () => {
  expect(tokensOf({ tokens: ["a"], target: ["b"] })).toMatchObject({
    tokens: [{ text: "a" }],
    target: [{ text: "b" }],
  });
  expect(positions(4).map(({ text }) => text)).toEqual(["0%", "25%", "50%", "75%"]);
});

it("shows three grids side by side where maps stay large enough", () => {
  expect(allFit(850, 12)).toBe(false);
  expect(allFit(1490, 12)).toBe(true);
  expect(viewsFor(850, 12, false)).toEqual(["before", "after", "difference"]);
  expect(viewOf(undefined, viewsFor(850, 12, false))).toBe("difference");
  expect(viewOf("all", viewsFor(850, 12, false))).toBe("difference"); // an address from a larger screen
  expect(viewOf(undefined, viewsFor(1490, 12, false))).toBe("all");
  expect(viewOf("before", viewsFor(1490, 12, false))).toBe("before");
  expect(viewOf("difference", viewsFor(1490, 12, true))).toBe("matches");
});

it("ends an axis at a round number above all values", () => {
  expect(axisTo([0.105, null]).top).toBeCloseTo(0.12);
  expect(axisTo([0.2, 0.16]).ticks).toEqual([0, 0.1, 0.2]);
  expect(axisTo([]).top).toBe(1);
  expect(axisTo([0]).top).toBe(1);
});

const series = (taken_up: number | null, ...values: (number | null)[]) =>
  ({ layer: 0, head: 0, statistic: "self", taken_up, values, low: [], high: [] }) as HeadSeries;

it("lists heads by the step at which they take up their job", () => {
  const rows = [series(2, 0, 0.1, 0.5), series(null, 0, 0, 0), series(1, 0, 0.3, 0.3), series(1, 0, 0.6, 0.9)];
  expect(byStep(rows).map(({ taken_up, values }) => [taken_up, values.at(-1)])).toEqual([
    [1, 0.9],
    [1, 0.3],
    [2, 0.5],
  ]);
});

it("draws a curve between round numbers, through known values only", () => {
  const { ticks, y } = scaleY({ values: [0.1, -0.2], low: [], high: [0.3] }, 100);
  expect(ticks[0]).toBeLessThanOrEqual(-0.2);
  expect(ticks.at(-1)).toBeGreaterThanOrEqual(0.3);
  expect(y(ticks[0])).toBe(100);
  expect(y(ticks.at(-1)!)).toBe(0);
  const path = pathOf(
    [1, null, 2],
    (at) => at,
    (value) => value,
  );
  expect(path).toBe("M0 1L2 2");
});

it("says how far a head moved, and whether that is more than seeds do", () => {
  const moved = row(3, { shift: 0.412, shift_low: 0.38, shift_high: 0.44, noise: 0.061, changed: true });
  expect(movedLine(moved).replaceAll("\u00a0", " ")).toBe("shift 0.41 [0.38, 0.44], between seeds 0.061");
  expect(movedLine(row(3, { shift: null }))).toBe("its maps cannot be compared");
  expect(changedWords(moved, 2)).toBe("changed more than between seeds");
  expect(changedWords({ changed: false, shift: 0.1 }, 2)).toBe("not more than between seeds");
  expect(changedWords({ changed: null, shift: 0.1 }, 0)).toContain("no other seeds");
  expect(changedWords({ changed: null, shift: 0.1 }, 2)).toContain("too few texts");
  expect(changedWords({ changed: null, shift: null }, 0)).toBe("");
  expect(counterpart({ other_layer: 2, other_head: 5 })).toBe("L2·H5");
  expect(counterpart({ other_layer: null, other_head: null })).toBe("no counterpart");
  expect(matchedWords({ other_layer: 2, other_head: 5 }, "b")).toBe("matched with L2·H5 of b");
  expect(matchedWords({ other_layer: null, other_head: null }, "b")).toBe("no counterpart in b");
  expect([points(0.034), points(-0.12), points(0), points(null)]).toEqual(["+3.4", "−12", "0", "–"]);
  expect(differenceText(0.41, 0.38, 0.43)).toBe("+0.41 [+0.38, +0.43]");
  expect(differenceText(-0.4, null, null)).toBe("−0.40");
});
