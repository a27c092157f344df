import { describe, expect, it } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { ClusterRow, Clusters } from "../../lib/api";
import { associationNotes, clusterSentence, measureNotes, NBSP, overallLines, reasonLines } from "../../lib/wording";
import { arrange } from "./arrange";
import { countHeads, middleLayer, mostPresent, sharesOf } from "./count";

const row = (fields: Partial<ClusterRow>): ClusterRow => ({
  cluster: 0,
  name: "previous token",
  phrases: ["previous token"],
  ordinal: 1,
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
  it("gives the reasons for a name", () => {
    const numbers = { mean: 0.8, rest: 0.1, delta: -0.9, low: -0.92, high: -0.88 };
    const why = { statistic: "special:[SEP]", plain: "attention to [SEP]", ...numbers };
    const line = `Attention to [SEP] is 0.80, in other maps 0.10 (delta −0.90 [−0.92,${NBSP}−0.88])`;
    expect(reasonLines(row({ reasons: [why] }))).toEqual([line]);
    expect(reasonLines(row({ reasons: [why], named: false, phrases: [] }))).toEqual([
      "No phrase fits; the most telling of 31 statistics",
      line,
    ]);
    expect(reasonLines(row({ named: false, statistics: 0, phrases: [] }))).toEqual(["No other maps to compare with"]);
    expect(reasonLines(row({ phrases: null, named: false }))).toEqual([]);
    expect(reasonLines(row({ cluster: -1, named: false, phrases: [] }))).toEqual([]);
  });
  it("sums up all clusters", () => {
    const locality = { similarity: 0.28, all_pairs: 0.09, difference: 0.19, low: null, high: null, p: 0.001 };
    const all = {
      jobs: { heads: 72, one_job: 64 },
      locality: [{ neighbors: "same layer", ...locality }],
      thresholds: { one_job: 0.75, mostly: 0.5, significant: 0.05 },
      clusters: [row({}), row({ cluster: -1, maps: 403, share: 0.04 })],
    } as unknown as Clusters;
    expect(overallLines(all)).toEqual([
      { label: "jobs", text: "64 of 72 heads have one job: at least 75% of their maps lie in one cluster" },
      {
        label: "same layer",
        text: "heads are more alike than any two: similarity 0.28, all pairs 0.09, p\u00a0=\u00a00.001",
      },
      { label: "noise", text: "403 maps (4%) belong to no cluster" },
    ]);
    expect(overallLines({ ...all, jobs: null, locality: [] })).toEqual([]);
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
      row({ cluster: 2, name: "broad 10", stability: 0.2, maps: 7 }),
      row({ cluster: 3, name: "Broad 2", stability: null, maps: 9 }),
    ];
    expect(arrange(rows, "size", "", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "name", "BROAD", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2]);
    expect(arrange(rows, "stability", "", () => 0).map(({ cluster }) => cluster)).toEqual([2, 3, -1]);
    expect(arrange(rows, "layer", "", ({ cluster }) => -cluster).map(({ cluster }) => cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "size", "2", () => 0).map(({ cluster }) => cluster)).toEqual([3, 2]);
  });
});
