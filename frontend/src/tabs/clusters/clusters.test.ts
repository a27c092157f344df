import { describe, expect, it } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { AtlasCard, ClusterRow } from "../../lib/api";
import { countHeads, middleLayer, mostPresent, sharesOf } from "./count";
import { allSentence, arrange, clusterSentence, home, ratio, reasons, stability, stabilityWord } from "./say";

const row = (own: Partial<ClusterRow>): ClusterRow => ({
  cluster: 0,
  name: "previous token",
  evidence: "",
  maps: 10,
  share: 0.1,
  stability: 0.97,
  layers: "0",
  heads: "",
  n_heads: null,
  head_entropy: null,
  examples: null,
  association: null,
  typical: [],
  unlike: [],
  ...own,
});

// 2 layers × 3 heads; the last head of the second layer does not exist
const [N, X] = [NOISE, MISSING];
const labels = Uint16Array.from([0, 1, 1, 0, N, X, 0, 0, 1, 4, N, X, 0, 1, 1, 0, 4, X]);

/** The same, counted slowly. */
function slowly(cluster: number, slot: number): number {
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
      for (let slot = 0; slot < 6; slot++) expect(counts.maps[at * 6 + slot]).toBe(slowly(cluster, slot));
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
    const { found, tied, somewhere, examples } = mostPresent(labels, 6, 0, 2);
    expect(found).toEqual([
      { example: 0, maps: 2, total: 5 },
      { example: 1, maps: 2, total: 5 },
    ]);
    expect([tied, somewhere, examples]).toEqual([3, 3, 3]);
    expect(mostPresent(labels, 6, -1, 5).found.map((one) => one.example)).toEqual([0, 1]);
  });
  it("keeps the order of a sort with many examples", () => {
    const many = Uint16Array.from({ length: 400 * 8 }, (_, at) => (Math.imul(at, 2654435761) >>> 16) % 3);
    const shares = Array.from(
      { length: 400 },
      (_, e) => many.subarray(8 * e, 8 * e + 8).filter((one) => one === 2).length,
    );
    const expected = shares
      .map((maps, example) => ({ maps, example }))
      .sort((a, b) => b.maps - a.maps || a.example - b.example)
      .slice(0, 12);
    expect(mostPresent(many, 8, 2, 12).found.map(({ example, maps }) => ({ maps, example }))).toEqual(expected);
  });
});

describe("words", () => {
  it("calls stability by its name", () => {
    expect([0.85, 0.849, 0.6, 0.59, null].map(stabilityWord)).toEqual([
      "stable",
      "fair",
      "fair",
      "shaky",
      "stability not known",
    ]);
    expect(stability(0.9)).toBe("stable (0.90)");
    expect([ratio(0.999), ratio(1), ratio(-0.5)]).toEqual([">\u202f0.99", "1.00", "−0.50"]);
  });
  it("says where a cluster lives", () => {
    expect(home(row({ heads: "L0·H2 (100 %), L2·H1 (98 %)", n_heads: 2 }))).toBe("L0·H2, L2·H1");
    expect(
      home(
        row({ heads: "L5·H1 (100 %), L5·H2 (99 %), L5·H3 (99 %), L5·H4 (99 %), L5·H5 (99 %), 7 more", n_heads: 12 }),
      ),
    ).toBe("L5·H1, L5·H2, L5·H3 and 9 more heads");
    expect(home(row({ layers: "spread" }))).toBe("in no layer or head above all");
  });
  it("makes a sentence of a cluster and of all", () => {
    const one = row({ maps: 4102, share: 0.41, heads: "L0·H2 (99 %), L2·H1 (98 %)", n_heads: 2 });
    expect(clusterSentence(one)).toBe("Previous token: 4,102 maps (41\u202f%), stable (0.97), lives in L0·H2, L2·H1.");
    expect(clusterSentence(row({ cluster: -1, name: "noise", stability: null, layers: "" }))).toContain(
      "belong to no cluster",
    );
    expect(allSentence([one, row({ cluster: 1, stability: 0.3, maps: 5 })])).toContain(
      "4,107 maps fall into 2 patterns: 1 stable, 1 shaky; the largest, “previous token”",
    );
    expect(allSentence([row({ cluster: -1, name: "noise" })])).toContain("no pattern");
  });
  it("puts evidence in plain words and leaves other forms alone", () => {
    const atlas = {
      statistics: [{ name: "special:[SEP]", plain: "attention to [SEP]", unit: "" }],
    } as unknown as AtlasCard;
    expect(reasons(atlas, "special:[SEP] 0.80 against 0.10, delta -0.90 [-0.92, -0.88]; something else")).toEqual([
      { statistic: "Attention to [SEP]", inside: "0.80", outside: "0.10", delta: "−0.90 [−0.92, −0.88]" },
      "something else",
    ]);
    expect(
      reasons(
        atlas,
        "nothing with a name stands out; most telling of 31 statistics: previous 0.01 against 0.05, delta -0.66 [-0.69, -0.64]",
      )[1],
    ).toMatchObject({ statistic: "Attention to the previous token" });
    expect(reasons(atlas, "just_after 0.40 against 0.05, delta 0.95")[0]).toMatchObject({
      statistic: "Attention to the four tokens after",
    });
    expect(reasons(atlas, "unheard_of 0.40 against 0.05, delta 0.95")[0]).toMatchObject({ statistic: "Unheard_of" });
    expect(reasons(atlas, "")).toEqual([]);
  });
  it("sorts and filters, noise last", () => {
    const rows = [
      row({ cluster: -1, name: "noise", maps: 99 }),
      row({ cluster: 2, name: "broad 10", stability: 0.2, maps: 7 }),
      row({ cluster: 3, name: "Broad 2", stability: null, maps: 9 }),
    ];
    expect(arrange(rows, "size", "", () => 0).map((one) => one.cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "name", "BROAD", () => 0).map((one) => one.cluster)).toEqual([3, 2]);
    expect(arrange(rows, "stability", "", () => 0).map((one) => one.cluster)).toEqual([2, 3, -1]);
    expect(arrange(rows, "layer", "", (one) => -one.cluster).map((one) => one.cluster)).toEqual([3, 2, -1]);
    expect(arrange(rows, "size", "2", () => 0).map((one) => one.cluster)).toEqual([3, 2]);
  });
});
