import { describe, expect, it } from "vitest";
import type { Change } from "../api";
import { changedIn, NBSP, spanChanged } from ".";

const statistic = (plain: string, ...means: (number | null)[]) => ({
  statistic: plain,
  plain,
  means: means.map((mean, at) => ({ value: `v${at}`, mean })),
});
const change = (...statistics: Change["statistics"]): Change => ({
  column: "kind",
  label: "kind",
  rank: 0,
  explained: 0.5,
  low: 0.4,
  high: 0.6,
  q: 0.001,
  groups: 40,
  untested: null,
  statistics,
});

describe("in what a head changes", () => {
  it("is the first statistic whose means differ enough", () => {
    const first = statistic("entropy", 0.5, 0.52);
    expect(changedIn(change(first, statistic("induction", 0.03, null, 0.4)), 0.05)).toBe(
      "induction is 0.40 if kind = v2, 0.030 if kind = v0",
    );
    expect(changedIn(change(first), 0.05)).toBeUndefined();
    expect(changedIn(change(first), 0.01)).toBe("entropy is 0.52 if kind = v1, 0.50 if kind = v0");
    expect(changedIn(change(statistic("first", null)), 0.01)).toBeUndefined();
    expect(changedIn(change(), 0)).toBeUndefined();
  });
});

describe("attention between spans", () => {
  it("says its means, and how much of the variation a column explains", () => {
    const { means } = statistic("", 0.22, null, 0.31);
    const plain = "attention from the question to the passage";
    const shares = { explained: 0.22, low: 0.1, high: 0.35, q: 0.004 };
    const change = { column: "kind", label: "kind", statistic: "span:question>passage", plain, means, ...shares };
    expect(spanChanged(change).replaceAll(NBSP, " ")).toBe(
      `${plain} is 0.31 if kind = v2, 0.22 if kind = v0 (explains 22% [10%, 35%] of its variation, q = 0.004)`,
    );
  });
});
