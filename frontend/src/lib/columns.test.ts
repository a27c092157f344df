import { describe, expect, it } from "vitest";
import { barCounts, columnOf, filtersOf, matching, parameterOf, roundStep } from "./columns";

describe("columns", () => {
  it("bins numbers in steps of a round width, each value in one bin", () => {
    const values = [62, 63, 80, 80, 131, null];
    const column = columnOf("n_tokens", "tokens", values);
    expect(column.numeric).toBe(true);
    expect(column.unknown).toBe(1);
    expect(column.bars[0].label).toBe("60 to 65");
    const counts = barCounts(column, [0, 1, 2, 3, 4, 5]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(5);
    expect(counts[0]).toBe(2);
    for (const value of values.slice(0, 5)) expect(column.bars.filter((bar) => bar.includes(value))).toHaveLength(1);
  });

  it("handles equal numbers, fractions and negative numbers", () => {
    expect(columnOf("a", "a", [3, 3]).bars).toHaveLength(1);
    const column = columnOf("score", "score", [-0.52, 0.11, 0.4]);
    expect(barCounts(column, [0, 1, 2]).filter(Boolean)).toEqual([1, 1, 1]);
    expect(roundStep(0.031, false)).toBeCloseTo(0.05);
    expect(roundStep(0.031, true)).toBe(1);
    expect(roundStep(17, true)).toBe(20);
  });

  it("lists the most frequent values of a category, and shows no bars for free text", () => {
    const column = columnOf("topic", "topic", ["sea", "hill", "sea", null]);
    expect(column.bars.map((bar) => bar.label)).toEqual(["sea", "hill"]);
    const title = columnOf(
      "title",
      "title",
      Array.from({ length: 60 }, (_, i) => `title ${i}`),
    );
    expect(title.bars).toEqual([]);
    expect(title.distinct).toBe(60);
  });

  it("intersects filters, and ignores unknown columns and values", () => {
    const topic = columnOf("topic", "topic", ["sea", "hill", "sea", null]);
    const tokens = columnOf("n_tokens", "tokens", [1, 2, 30, 4]);
    const filters = filtersOf([topic, tokens], { [parameterOf(topic)]: "sea", "in.n_tokens": tokens.bars[0].key });
    expect(filters.map(({ bar }) => bar.key)).toEqual(["sea", tokens.bars[0].key]);
    expect(matching(4, filters)).toEqual([0]);
    expect(matching(4, filtersOf([topic, tokens], { "in.topic": "moon", "in.none": "x" }))).toEqual([0, 1, 2, 3]);
  });
});
