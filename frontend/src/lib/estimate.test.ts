// Expected values are those of scipy.stats: t.ppf, t.interval, ttest_ind without equal variances, and ttest_rel.
import { describe, expect, it } from "vitest";
import { differenceOf, meanOf, studentT } from "./estimate";

const a = Array.from({ length: 25 }, (_, i) => ((i * 37) % 11) / 10);
const b = Array.from({ length: 40 }, (_, i) => ((i * 53) % 13) / 20);
const values = [...a, ...b];
const range = (first: number, last: number) => Array.from({ length: last - first }, (_, i) => first + i);
const [inA, inB] = [range(0, 25), range(25, 65)];

describe("means with intervals", () => {
  it("have the quantiles of Student's t", () => {
    for (const [freedom, quantile] of [
      [10, 2.22814],
      [19, 2.09302],
      [30, 2.04227],
      [100, 1.98397],
    ])
      expect(studentT(freedom)).toBeCloseTo(quantile, 3);
  });
  it("agree with scipy", () => {
    const mean = meanOf(values, inA, null);
    expect(mean.texts).toBe(25);
    expect([mean.value, mean.low, mean.high].map((end) => end!.toFixed(4))).toEqual(["0.4880", "0.3535", "0.6225"]);
  });
  it("leave out unknown values, and give no interval for fewer than 20 texts or equal ones", () => {
    expect(meanOf([NaN, 1, 3], [0, 1, 2], null)).toMatchObject({ value: 2, texts: 2, low: null, high: null });
    expect(meanOf(values, range(0, 19), null).low).toBeNull();
    expect(meanOf(values, range(0, 20), null).low).not.toBeNull();
    expect(meanOf(new Array(30).fill(0.5), range(0, 30), null)).toMatchObject({ value: 0.5, low: null });
  });
  it("count texts of one source once", () => {
    const group = [0, 0, 0, 1];
    expect(meanOf([1, 1, 1, 3], [0, 1, 2, 3], group).value).toBe(2);
    // every text twice: the interval must not become narrower
    const twice = meanOf([...a, ...a], range(0, 50), [...range(0, 25), ...range(0, 25)]);
    const once = meanOf(values, inA, null);
    expect([twice.texts, twice.sources.size]).toEqual([50, 25]);
    expect([twice.low, twice.high]).toEqual([once.low, once.high]);
  });
});

describe("differences", () => {
  it("are Welch's where no source is in both parts", () => {
    const { value, low, high } = differenceOf(meanOf(values, inA, null), meanOf(values, inB, null));
    expect([value, low, high].map((end) => end!.toFixed(4))).toEqual(["0.1955", "0.0494", "0.3416"]);
  });
  it("are paired where all sources are in both parts", () => {
    const group = [...range(0, 25), ...range(0, 40)];
    const { value, low, high } = differenceOf(meanOf(values, inA, group), meanOf(values, range(25, 50), group));
    expect([value, low, high].map((end) => end!.toFixed(4))).toEqual(["0.2000", "0.0467", "0.3533"]);
  });
  it("have no interval where a part has too few texts", () => {
    const few = meanOf(values, range(0, 5), null);
    expect(differenceOf(few, meanOf(values, inB, null))).toMatchObject({ low: null, high: null });
  });
});
