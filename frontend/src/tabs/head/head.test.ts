import { describe, expect, it, vi } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { AtlasCard, HeadRow, LayerCard } from "../../lib/api";
import { mostUnusual, unusual } from "../../lib/unusual";
import { attends, headSentence, jobsSentence, statisticSentence, unusualSentence } from "../../lib/wording";
import { cases, groupOf, measureOf, ofHead, sharing, tally, walk } from "./head";
import { layout, ordered } from "./strip";

vi.mock("../../lib/route.svelte", () => ({ route: { params: {} } })); // it reads the address of a browser

const layer = (heads: number, key_heads = heads): LayerCard => ({
  index: 0,
  kind: "encoder",
  heads,
  key_heads,
  causal: false,
  width: 8,
  scaling: 1,
  note: "",
});
const head = (number: number, mean: (number | null)[]): HeadRow => ({
  layer: 0,
  head: number,
  kind: "encoder",
  mean,
  deviation: mean.map(() => 0.01),
});

describe("walking", () => {
  const layers = [layer(3), layer(1), layer(0), layer(3)];
  const to = (from: [number, number], key: string) => {
    const next = walk(layers, { layer: from[0], head: from[1] }, key);
    return next && [next.layer, next.head];
  };
  it("goes across in reading order and stops at the ends", () => {
    expect(to([0, 0], "ArrowRight")).toEqual([0, 1]);
    expect(to([0, 2], "ArrowRight")).toEqual([1, 0]);
    expect(to([1, 0], "ArrowRight")).toEqual([3, 0]);
    expect(to([3, 0], "ArrowLeft")).toEqual([1, 0]);
    expect(to([1, 0], "ArrowLeft")).toEqual([0, 2]);
    expect(to([0, 0], "ArrowLeft")).toBeNull();
    expect(to([3, 2], "ArrowRight")).toBeNull();
  });
  it("skips layers without the head", () => {
    expect(to([0, 2], "ArrowDown")).toEqual([3, 2]);
    expect(to([3, 0], "ArrowUp")).toEqual([1, 0]);
    expect(to([3, 2], "ArrowDown")).toBeNull();
  });
  it("lists the heads that share keys", () => {
    expect(sharing([layer(9, 3)], { layer: 0, head: 4 }).map(({ head }) => head)).toEqual([3, 5]);
    expect(sharing([layer(9)], { layer: 0, head: 4 })).toEqual([]);
  });
});

describe("one head among all", () => {
  const rows = [head(0, [0.9, 0.5, null]), head(1, [0.1, 0.4, 1]), head(2, [0.3, 0.6, 2]), head(3, [0.2, 0.5, 3])];
  it("measures its distance in deviations of the other heads", () => {
    const ranked = unusual(rows, rows[0]);
    const others = [0.1, 0.3, 0.2];
    const mean = others.reduce((a, b) => a + b) / 3;
    const deviation = Math.sqrt(others.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 3);
    expect(ranked.map(({ statistic }) => statistic)).toEqual([0, 1]);
    expect(ranked[0].away).toBeCloseTo((0.9 - mean) / deviation, 9);
    expect(ranked[0].others).toBeCloseTo(mean, 12);
    expect(ranked[1].away).toBeCloseTo(0, 9);
  });
  it("is capped where all other heads are equal", () => {
    const equal = [head(0, [2]), head(1, [1]), head(2, [1])];
    expect(unusual(equal, equal[0])[0].away).toBe(99);
    expect(unusual([equal[0]], equal[0])[0].away).toBe(0);
  });
  it("leaves out statistics in which all heads are equal where only the most unusual are shown", () => {
    const equal = [head(0, [2, 7]), head(1, [1, 7]), head(2, [1.5, 7])];
    expect(mostUnusual(equal, equal[0], 3).map(({ statistic }) => statistic)).toEqual([0]);
    expect(mostUnusual(equal.slice(1, 2), equal[1], 3)).toEqual([]);
  });
  it("groups statistics", () => {
    expect(["previous", "special:[SEP]", "entropy_relative", "first", "same_token", "distance"].map(groupOf)).toEqual([
      "position",
      "tokens",
      "shape",
      "position",
      "tokens",
      "position",
    ]);
  });
});

describe("over the examples", () => {
  const column = Uint16Array.from([9, 3, 9, 3, 9, NOISE, 9, 5, 9, 3, 9, MISSING]);
  const labels = ofHead(column, 2, 1);
  it("selects one head and counts its clusters", () => {
    expect([...labels]).toEqual([3, 3, NOISE, 5, 3, MISSING]);
    expect(tally(labels)).toEqual([
      { cluster: 3, maps: 3 },
      { cluster: 5, maps: 1 },
      { cluster: -1, maps: 1 },
    ]);
  });
  it("separates typical and unusual examples", () => {
    const { typical, unusual: other } = cases(labels, Uint16Array.from([50, 10, 7, 8, 90, 1]), 3, 2);
    expect(typical.map(({ example }) => example)).toEqual([1, 0]);
    expect(other.map(({ example }) => example)).toEqual([2, 3]);
    expect(cases(labels, Uint16Array.from([50, 10, 7, 8, 90, 1]), 3, 1).typical.map(({ example }) => example)).toEqual([
      1,
    ]);
    expect(
      cases(Uint16Array.from([3, 3, 3]), Uint16Array.from([5, 9, 7]), 3, 1).unusual.map(({ example }) => example),
    ).toEqual([1]);
    expect(cases(labels, null, 3, 9).unusual).toHaveLength(2);
  });
  it("agrees with a full sort", () => {
    const many = Uint16Array.from(
      { length: 3000 },
      (_, at) => [7, 7, 7, 2, MISSING][(Math.imul(at, 2654435761) >>> 20) % 5],
    );
    const away = Uint16Array.from({ length: 3000 }, (_, at) => (Math.imul(at, 40503) >>> 3) % 60000);
    const inside = [...many.keys()].filter((at) => many[at] === 7).sort((a, b) => away[a] - away[b] || a - b);
    const outside = [...many.keys()].filter((at) => many[at] === 2).sort((a, b) => away[b] - away[a] || a - b);
    const { typical, unusual: other } = cases(many, away, 7, 8);
    expect(typical.map(({ example }) => example)).toEqual(inside.slice(0, 8));
    expect(other.map(({ example }) => example)).toEqual(outside.slice(0, 8));
  });
  it("fits any number of examples", () => {
    for (const count of [1, 140, 5000, 100_000]) {
      const { cell, columns, rows } = layout(count, 540, 160);
      expect(columns * rows).toBeGreaterThanOrEqual(count);
      expect(columns * cell).toBeLessThanOrEqual(540);
      expect(cell === 1 || rows * cell <= 160).toBe(true);
    }
    expect([...ordered(3, [5, 2, 5])]).toEqual([1, 0, 2]);
  });
});

describe("the sentence", () => {
  const MASS = "share of attention";
  const atlas = {
    data: { modality: "text" },
    statistics: [
      { name: "previous", plain: "attention to the previous token", unit: MASS },
      { name: "entropy_relative", plain: "relative entropy of attention", unit: "1: as even as can be" },
    ],
  } as unknown as AtlasCard;
  const row = head(2, [0.98, 0.1]);
  const ranked = unusual([row, head(1, [0.1, 0.2])], row);
  const sentence = (
    phrases: string[] | null,
    facts: Partial<Parameters<typeof headSentence>[0]> = {},
    source = { atlas, row, ranked },
  ) =>
    headSentence({
      head: source.row,
      examples: 140,
      modality: "text",
      pattern: { cluster: 3, name: phrases?.join(", ") ?? "my pattern", phrases },
      share: 0.99,
      measure: measureOf(source.atlas, source.row, phrases ?? [], source.ranked[0]),
      second: null,
      related: null,
      ...facts,
    });
  it("turns phrases into a verb", () => {
    expect(attends(["previous token"])?.verb).toBe("attends to the previous token");
    expect(attends(["tokens just before", "focuses sharply"])?.verb).toBe("attends sharply to the tokens just before");
    expect(attends(["distant tokens", "spreads widely"])?.verb).toBe("attends far and broadly");
    expect(attends(["rests on [CLS]", "previous token"])).toEqual({
      verb: "attends to [CLS] and to the previous token",
      statistics: [["special:[CLS]"], ["previous"]],
      targets: 2,
    });
    expect(attends(["two tokens back"])?.statistics).toEqual([["offset-2"]]);
    expect(attends(["a phrase of another version"])).toBeNull();
    expect(attends([])).toBeNull();
  });
  it("says what the head does, how strongly, and on how many examples", () => {
    expect(sentence(["previous token"])).toBe(
      "L0·H2 attends to the previous token (mass 0.98 ± 0.010) in 99% of 140 texts.",
    );
    expect(sentence(["spreads evenly"], { share: 0.5, second: { name: "distant tokens", share: 0.3 } })).toBe(
      "L0·H2 attends evenly (relative entropy of attention 0.10 ± 0.010) in 50% of 140 texts, “distant tokens” in 30%.",
    );
    expect(sentence(["rests on [CLS]", "previous token"])).toContain(
      "to the previous token (attention to the previous token 0.98 ± 0.010)",
    );
    const names = ["next", "offset+2", "offset+3", "offset+4"];
    const wide = { ...atlas, statistics: names.map((name) => ({ name, plain: name, unit: MASS })) } as AtlasCard;
    const four = { atlas: wide, row: head(2, [0.25, 0.125, 0.125, 0]), ranked: [] };
    expect(sentence(["tokens just after", "focuses sharply"], {}, four)).toContain(
      "sharply to the tokens just after (mass 0.50) in 99%",
    );
    expect(sentence(["tokens just after", "previous token"], {}, four)).toContain("(0.50 of attention to the former)");
    expect(sentence(null)).toContain("shows “my pattern”");
    expect(sentence([], { pattern: { cluster: -1, name: "noise", phrases: [] } })).toContain("belongs to no cluster");
  });
  it("names the head most like it", () => {
    const like = (closer_than: number) => sentence(["previous token"], { related: { layer: 1, head: 0, closer_than } });
    expect(like(0.995)).toContain("; most like L1·H0 (among the closest 0.5% of all pairs of heads).");
    expect(like(0.8)).toContain("; no other head is much like it.");
  });
  it("falls back on statistics where there are no clusters", () => {
    const first = { ...ranked[0], label: "attention to the previous token" };
    expect(statisticSentence(row, 140, "text", first)).toBe(
      "L0·H2: attention to the previous token 0.98 ± 0.010 on 140 texts, other heads 0.10 on average.",
    );
    expect(statisticSentence(row, 1, "text", null)).toBe("L0·H2 on 1 text.");
    expect(unusualSentence(row, "on 1 text", { label: "entropy", value: 0.5, away: -2 })).toBe(
      "L0·H2 on 1 text: entropy is 0.50, −2.0 standard deviations from the mean of the other heads.",
    );
  });
  it("counts jobs", () => {
    const parts = (...shares: number[]) => shares.map((share, at) => ({ name: `p${at}`, share }));
    expect(jobsSentence(row, "on 140 texts", true, parts(0.9, 0.1))).toBe(
      "L0·H2 has one job: 90% of its maps on 140 texts are “p0”.",
    );
    expect(jobsSentence(row, "on 140 texts", false, parts(0.5, 0.42, 0.08))).toBe(
      "L0·H2 has several jobs: on 140 texts its maps are “p0” (50%) and “p1” (42%).",
    );
    expect(jobsSentence(row, "on 140 texts", false, parts(0.09, 0.08))).toBe(
      "L0·H2 has many jobs: on 140 texts its maps lie in 2 clusters, none with 10% of them.",
    );
  });
});
