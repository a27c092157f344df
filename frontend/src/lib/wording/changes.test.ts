import { describe, expect, it } from "vitest";
import type { Change } from "../api";
import { changedIn } from ".";

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
