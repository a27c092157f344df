import { describe, expect, it } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { ClusterRow, Clusters } from "../../lib/api";
import {
  associationNotes,
  clusterSentence,
  measureNotes,
  NBSP,
  nullLines,
  nullStays,
  overallLines,
  pattern,
} from "../../lib/wording";
import { arrange } from "./arrange";
import { countHeads, sharesOf } from "../../lib/counts";
import { middleLayer, mostPresent } from "./count";

const row = (fields: Partial<ClusterRow>): ClusterRow => ({
  cluster: 0,
  name: "previous token",
  phrases: ["previous token"],
  distinction: null,
  maps: 10,
  share: 0.1,
  stability: 0.97,
  layers: [0],
  heads: [],
  mostly: 0,
  head_entropy: null,
  examples: null,
  reasons: [],
  named: true,
  statistics: 31,
  association: null,
  nulls: [],
  typical: [],
  unlike: [],
  ...fields,
});

// 2 layers × 3 heads; the last head of the second layer does not exist
const [N, X] = [NOISE, MISSING];
const labels = Uint16Array.from([0, 1, 1, 0, N, X, 0, 0, 1, 4, N, X, 0, 1, 1, 0, 4, X]);

/** The same count, one map at a time. */
function countOneByOne(cluster: number, slot: number): number {
  let maps = 0;
  labels.forEach((label, at) => {
    if (at % 6 === slot && label === (cluster < 0 ? N : cluster)) maps++;
  });
  return maps;
}

describe("counting", () => {
  const clusters = [4, 0, -1, 1];
  const counts = countHeads(labels, 6, clusters);
  it("agrees with a slow count", () => {
    clusters.forEach((cluster, at) => {
      for (let slot = 0; slot < 6; slot++) expect(counts.maps[at * 6 + slot]).toBe(countOneByOne(cluster, slot));
    });
    expect([...counts.total]).toEqual([3, 3, 3, 3, 3, 0]);
  });
  it("has no share where there is no head", () => {
    expect(sharesOf(counts, 1)[0]).toBe(1);
    expect(sharesOf(counts, 2)[4]).toBeCloseTo(2 / 3);
    expect(sharesOf(counts, 1)[5]).toBeNaN();
  });
  it("finds the middle layer", () => {
    expect(middleLayer(counts, 3, 3)).toBe(0);
    expect(middleLayer(counts, 2, 3)).toBe(1);
    expect(middleLayer(counts, 1, 3)).toBeCloseTo(2 / 6);
  });
  it("finds the examples in which a cluster is most present", () => {
    const { top, tied, occurring, examples } = mostPresent(labels, 6, 0, 2);
    expect(top).toEqual([
      { example: 0, maps: 2, total: 5 },
      { example: 1, maps: 2, total: 5 },
    ]);
    expect([tied, occurring, examples]).toEqual([3, 3, 3]);
    expect(mostPresent(labels, 6, -1, 5).top.map((entry) => entry.example)).toEqual([0, 1]);
  });
  it("gives the same order as a full sort of many examples", () => {
    const many = Uint16Array.from({ length: 400 * 8 }, (_, at) => (Math.imul(at, 2654435761) >>> 16) % 3);
    const shares = Array.from(
      { length: 400 },
      (_, e) => many.subarray(8 * e, 8 * e + 8).filter((label) => label === 2).length,
    );
    const expected = shares
      .map((maps, example) => ({ maps, example }))
      .sort((a, b) => b.maps - a.maps || a.example - b.example)
      .slice(0, 12);
    expect(mostPresent(many, 8, 2, 12).top.map(({ example, maps }) => ({ maps, example }))).toEqual(expected);
  });
});

describe("words", () => {
  const heads = (...shares: number[]) => shares.map((share, head) => ({ layer: 5, head, share }));
  it("describes a cluster in a sentence", () => {
    const sentence = (fields: Partial<ClusterRow>) => clusterSentence(row({ maps: 4102, share: 0.41, ...fields }), 0.5);
    const size = "Previous token: 4,102 maps (41%), stable (0.97), ";
    expect(sentence({ heads: heads(0.99, 0.98) })).toBe(`${size}the main pattern of L5·H0 and L5·H1.`);
    expect(sentence({ heads: heads(...new Array(12).fill(0.9)) })).toBe(
      `${size}the main pattern of L5·H0, L5·H1, L5·H2, and 9 more heads.`,
    );
    expect(sentence({ heads: heads(0.3) })).toBe(`${size}more frequent than expected in L5·H0.`);
    expect(sentence({ layers: [0, 1, 4] })).toBe(`${size}in layers 0–1, 4.`);
    expect(sentence({ layers: [] })).toBe(`${size}in no particular layer or head.`);
    expect(sentence({ layers: null, phrases: null })).toBe("Previous token: 4,102 maps (41%), stable (0.97).");
    expect(sentence({ cluster: -1, name: "noise", stability: null })).toBe(
      "Noise: 4,102 maps (41%) that belong to no cluster.",
    );
  });
  it("says what the maps of a cluster do", () => {
    const numbers = { mean: 0.8, rest: 0.1, delta: 0.9, low: 0.88, high: 0.92 };
    const sink = { statistic: "special:[SEP]", plain: "attention to [SEP]", ...numbers };
    const near = { statistic: "distance_share", plain: "relative distance of attention", ...numbers, delta: -0.9 };
    expect(pattern(row({ reasons: [sink] }))).toBe(
      "Attention rests on separators: 0.80 of the attention, in other maps 0.10.",
    );
    const heads = { kind: "heads", statistic: null, plain: null, higher: null, value: null, others: null } as const;
    const distinction = { ...heads, heads: [{ layer: 3, head: 2 }], layers: [], examples: [] };
    expect(pattern(row({ reasons: [near], distinction }))).toBe(
      "Attention stays on nearby tokens: relative distance 0.80, in other maps 0.10; mostly in L3·H2.",
    );
    expect(pattern(row({ reasons: [sink], named: false, phrases: [] }))).toBe(
      "Nothing sets these maps clearly apart; most telling: attention to [SEP] 0.80, in other maps 0.10.",
    );
    expect(pattern(row({ named: false, statistics: 0, phrases: [] }))).toBe("There are no other maps to compare with.");
    expect(pattern(row({ phrases: null, named: false }))).toBeNull();
    expect(pattern(row({ cluster: -1, named: false, phrases: [] }))).toBeNull();
    expect(pattern(row({ reasons: [{ ...sink, mean: 0.38, rest: 0.39 }] }))).toBe(
      "Attention rests on separators: 0.38 of the attention, about as in other maps (0.39).",
    );
    const foreign = { ...sink, statistic: "unheard_of", plain: "unheard_of" };
    expect(pattern(row({ reasons: [foreign] }))).toBe("Unheard_of: unheard_of 0.80, in other maps 0.10.");
  });
  it("sums up all clusters", () => {
    const locality = { similarity: 0.28, all_pairs: 0.09, difference: 0.19, low: null, high: null, p: 0.001 };
    const all = {
      groups: 20,
      jobs: { heads: 72, one_job: 64 },
      locality: [{ neighbors: "same layer", ...locality }],
      thresholds: { one_job: 0.75, mostly: 0.5, significant: 0.05, groups: 20 },
      clusters: [row({}), row({ cluster: -1, maps: 403, share: 0.04 })],
    } as unknown as Clusters;
    expect(overallLines(all)).toEqual([
      { label: "jobs", text: "64 of 72 heads have one job: at least 75% of their maps lie in one cluster", nulls: "" },
      {
        label: "same layer",
        text: "heads are more alike than any two: similarity 0.28, all pairs 0.09, p\u00a0=\u00a00.001",
        nulls: "",
      },
      { label: "noise", text: "403 maps (4%) belong to no cluster", nulls: "" },
    ]);
    expect(overallLines({ ...all, jobs: null, locality: [] })).toEqual([]);
    const few = overallLines({ ...all, groups: 2, locality: [{ ...all.locality[0], p: null }] });
    expect(few.slice(0, 2).map(({ text }) => text)).toEqual([
      "64 of 72 heads have one job: at least 75% of their maps lie in one cluster; too few texts to test (2, 20 are needed)",
      "similarity 0.28, all pairs 0.09; too few texts to test (2, 20 are needed)",
    ]);
    const nullModels = {
      kinds: ["untrained", "shuffled"],
      examples: 60,
      jobs: [
        { kind: "untrained", heads: 72, one_job: 72 },
        { kind: "shuffled", heads: 72, one_job: 61 },
      ],
      locality: [{ kind: "untrained", neighbors: "same layer", similarity: 1, all_pairs: 0.99 }],
      nodes: [],
    } as Clusters["null"];
    expect(overallLines({ ...all, null: nullModels }).map(({ nulls }) => nulls)).toEqual([
      "72 of 72 with random weights, 61 of 72 with shuffled words",
      "similarity (all pairs) 1.00 (0.99) with random weights",
      "",
    ]);
  });
  it("says what is left of a pattern under null models", () => {
    const share = (kind: "untrained" | "permuted" | "shuffled", kept: number | null) => ({
      kind,
      share: 0.1,
      low: 0.05,
      high: 0.15,
      share_real: 0.3,
      kept,
    });
    expect(nullStays([share("untrained", 0), share("permuted", 0.004), share("shuffled", 0.94)])).toBe(
      "0% of it stays with random weights, <1% with its weights shuffled, 94% with shuffled words",
    );
    expect(nullStays([share("untrained", null)])).toBe("");
    expect(nullStays([])).toBe("");
    expect(nullLines(share("shuffled", 0.94)).map((line) => line.replaceAll(NBSP, " "))).toEqual([
      "10% [5%, 15%] of its maps, 30% of those of the model itself",
      "94% of the model’s maps in this pattern stay in it",
    ]);
  });
  it("gives the notes on a number", () => {
    const factor = { factor: "age", cramers_v: 0.1, low: null, high: null, ami: 0, p: 0.2, permutations: 9, n: 90 };
    expect(associationNotes({ ...factor, shuffled: "windows", untested: null, binned: true, left_out: 1 })).toEqual([
      "numbers are binned at their quartiles",
      "1 example without a value left out",
      "values differ within texts: whole texts with the same number of windows are swapped",
    ]);
    expect(
      associationNotes({ ...factor, shuffled: "heads", untested: "one value", binned: false, left_out: 0 }),
    ).toEqual(["one value only: nothing to test"]);
    const quality = { measure: "stability", value: 0.9, low: null, high: null, maps: 1204, pairs: 5 };
    expect(measureNotes(quality).slice(1)).toEqual(["5 pairs of bootstrap samples", "n = 1,204 maps"]);
    expect(measureNotes({ ...quality, measure: "unheard of", maps: null, pairs: null })).toEqual([]);
  });
  it("sorts and filters, noise last", () => {
    const rows = [
      row({ cluster: -1, name: "noise", maps: 99 }),
      row({ cluster: 2, name: "mixed, layers 10–11", stability: 0.2, maps: 7 }),
      row({ cluster: 3, name: "Mixed, layers 2–3", stability: null, maps: 9 }),
    ];
    expect(arrange(rows, "size", "", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "name", "MIXED", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2]);
    expect(arrange(rows, "stability", "", () => 0).map(({ cluster }) => cluster)).toEqual([2, 3, -1]);
    expect(arrange(rows, "layer", "", ({ cluster }) => -cluster).map(({ cluster }) => cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "size", "2", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2]);
  });
});
