import { beforeEach, describe, expect, it } from "vitest";
import { leveled } from "../tabs/maps/coding";
import { nodeMiddles } from "../tabs/maps/typical";
import type { ClusterRow, Clusters, NodeRow, Tree } from "./api";
import { countHeads, countLeaves, countRanges, headsWith } from "./counts";
import { MISSING, NOISE } from "./encoding";
import {
  clustersAt,
  cutAt,
  isAt,
  isNode,
  labelsOf,
  levelWith,
  nodeOf,
  numberOf,
  outline,
  readLevel,
  shadesOf,
} from "./levels";
import { categoryColor, categoryMark, CATEGORIES, SHADES, shadeColor } from "./palette";
import { shading } from "./shading.svelte";

// Leaves 0 to 4; the default level has the patterns {0, 1, 2} (cluster 0) and {3, 4} (cluster 1).
//        node parent cluster leaves levels maps
const NODES: [number, number | null, number | null, [number, number], [number, number], number][] = [
  [0, null, null, [0, 4], [1, 1], 100],
  [1, 0, 0, [0, 2], [2, 2], 60],
  [2, 0, 1, [3, 4], [2, 4], 40],
  [3, 1, null, [0, 1], [3, 3], 45],
  [4, 1, null, [2, 2], [3, 5], 15],
  [5, 3, null, [0, 0], [4, 5], 30],
  [6, 3, null, [1, 1], [4, 5], 15],
  [7, 2, null, [3, 3], [5, 5], 25],
  [8, 2, null, [4, 4], [5, 5], 15],
];
const tree: Tree = {
  clustering: "tree",
  leaves: "leaf.tree",
  default: 2,
  sentences: ["one", "two", "three", "four", "five"],
  nodes: NODES.map(([node, parent, cluster, [first_leaf, last_leaf], [coarsest, finest], maps]) => ({
    node,
    parent,
    cluster,
    name: `name ${node}`,
    phrases: node === 3 ? ["near"] : null,
    reasons: [],
    distinction: null,
    named: node === 3,
    maps,
    share: maps / 100,
    stability: 0.5,
    low: 0.4,
    high: 0.6,
    coarsest,
    finest,
    first_leaf,
    last_leaf,
  })),
};
const card = {
  name: "tree",
  key: "0a1b2c3d",
  method: "tree",
  level: "maps",
  clusters: 2,
  noise: 0,
  stability: 1,
  correlated: true,
};
const [LAYERS, HEADS] = [2, 2];
// the last head does not exist
const leaves = Uint16Array.from({ length: 100 }, (_, i) => (i % 4 === 3 ? MISSING : (7 * i + (i >> 3)) % 5));

/** The number of the pattern that a leaf is in at a level, one node at a time. */
function slowLabel(leaf: number, level: number): number {
  if (leaf === MISSING) return MISSING;
  const holding = tree.nodes.filter(
    (node) => node.coarsest <= level && level <= node.finest && node.first_leaf <= leaf && leaf <= node.last_leaf,
  );
  expect(holding).toHaveLength(1);
  return holding[0].cluster ?? 1000 + holding[0].node;
}

describe("labels at a level", () => {
  it("agree with a slow loop", () => {
    for (let level = 1; level <= 5; level++)
      expect([...labelsOf(leaves, cutAt(tree, level))]).toEqual([...leaves].map((leaf) => slowLabel(leaf, level)));
  });
  it("are the clusters at the default level", () => {
    const flat = [...leaves].map((leaf) => (leaf === MISSING ? MISSING : leaf <= 2 ? 0 : 1));
    expect([...labelsOf(leaves, cutAt(tree, tree.default))]).toEqual(flat);
  });
  it("of one node leave the others out", () => {
    const labels = labelsOf(leaves, [nodeOf(tree, 1003)!]);
    leaves.forEach((leaf, i) => expect(labels[i]).toBe(leaf === MISSING ? MISSING : leaf <= 1 ? 1003 : NOISE));
  });
  it("take a few milliseconds for a million maps", () => {
    const million = Uint16Array.from({ length: 1_000_000 }, (_, i) => i % 5);
    const counts = new Uint32Array(5).fill(200_000);
    const started = performance.now();
    labelsOf(million, cutAt(tree, 4));
    leveled(million, counts, cutAt(tree, 4));
    expect(performance.now() - started).toBeLessThan(100);
  });
});

describe("levels", () => {
  it("are read from the address and stay within the tree", () => {
    const read = (text: string | undefined, finest: number | null = 5) => readLevel(text, { ...card, finest });
    expect([undefined, "", "x", "-3", "4", "99", "0"].map((text) => read(text))).toEqual([2, 2, 2, 2, 4, 5, 1]);
    expect(read("4", null)).toBe(2); // not a tree
  });
  it("have patterns from the largest to the smallest", () => {
    expect(cutAt(tree, 4).map(numberOf)).toEqual([1, 1005, 1004, 1006]);
    expect(tree.nodes.filter((node) => isNode(numberOf(node))).map(({ node }) => node)).toEqual([0, 3, 4, 5, 6, 7, 8]);
  });
  it("are moved to where a node is a pattern", () => {
    const [, , two, , four] = tree.nodes;
    expect([levelWith(two, 1), levelWith(two, 3), levelWith(four, 9)]).toEqual([2, 3, 5]);
    expect(isAt(two, 4) && !isAt(two, 5)).toBe(true);
  });
});

describe("counts", () => {
  const counts = countLeaves(leaves, LAYERS * HEADS, 5);
  it("of nodes are those of their labels", () => {
    for (let level = 1; level <= 5; level++) {
      const cut = cutAt(tree, level);
      expect(countRanges(counts, cut)).toEqual(countHeads(labelsOf(leaves, cut), LAYERS * HEADS, cut.map(numberOf)));
    }
  });
  it("give the heads with a large share, the largest first", () => {
    const made = {
      slots: 4,
      maps: Uint32Array.from([3, 0, 10, 6, 7, 10, 0, 4]),
      total: Uint32Array.from([10, 10, 10, 10]),
    };
    expect(headsWith(made, 0, 2, 0.5)).toEqual([
      { layer: 1, head: 0, share: 1 },
      { layer: 1, head: 1, share: expect.closeTo(0.6) },
    ]);
  });
  it("and names of categories are those of the cut", () => {
    const maps = new Uint32Array(5);
    for (const leaf of leaves) if (leaf !== MISSING) maps[leaf]++;
    const coded = leveled(leaves, maps, cutAt(tree, 4));
    const labels = labelsOf(leaves, cutAt(tree, 4));
    for (const { key, number, name, count } of coded.categories!) {
      expect(name).toBe(nodeOf(tree, number)!.name);
      expect([...labels].filter((label) => label === number)).toHaveLength(count);
      labels.forEach((label, i) => expect(coded.keys[i] === key).toBe(label === number));
    }
  });
});

describe("clusters at a level", () => {
  const row = { cluster: 1, name: "flat", typical: [0] } as unknown as ClusterRow;
  const flat = {
    sentence: "default",
    thresholds: { mostly: 0.5, one_job: 0.75 },
    clusters: [{ cluster: 0 }, row],
    quality: [1],
    associations: [1],
    locality: [1],
    exemplars: [{}],
  } as unknown as Clusters;
  const cut = cutAt(tree, 3);
  const counts = countRanges(countLeaves(leaves, 4, 5), cut);
  const { clusters, ...rest } = clustersAt(flat, tree, 3, counts, HEADS);
  it("keep what is known of clusters of the default level, and only of these", () => {
    expect(clusters.map(({ cluster }) => cluster)).toEqual([1003, 1, 1004]);
    expect(clusters[1]).toBe(row);
    expect(clusters[0]).toMatchObject({ name: "name 3", phrases: ["near"], maps: 45, typical: [], association: null });
    expect(clusters[0].heads).toEqual(headsWith(counts, 0, HEADS, 0.5));
    expect(rest).toMatchObject({ sentence: "three", quality: [], associations: [], locality: [] });
    expect(rest.jobs!.heads).toBe(3);
  });
});

describe("the outline", () => {
  it("goes from the root to one step below the level", () => {
    const lines = outline(tree, 3).map(({ node, depth, place }) => [node.node, depth, place]);
    expect(lines).toEqual([
      [0, 0, "above"],
      [1, 1, "above"],
      [3, 2, "at"],
      [5, 3, "below"],
      [6, 3, "below"],
      [4, 2, "at"],
      [2, 1, "at"],
      [7, 2, "below"],
      [8, 2, "below"],
    ]);
  });
  it("puts names at a map of the middle leaf", () => {
    const at: [number, number][] = [[0, 0], [10, 0], [11, 0], [50, 50], [60, 60]]; // prettier-ignore
    const nodes = [tree.nodes[1], tree.nodes[8]];
    expect(nodeMiddles(at, [30, 100, 15, 1, 2], nodes)).toEqual([[10, 0], [60, 60]]); // prettier-ignore
    expect(nodeMiddles([null, null, null, null, null], [0, 0, 0, 0, 0], nodes)).toEqual([null, null]);
  });
});

describe("colors", () => {
  const color = (number: number) => categoryColor(number, "light");
  beforeEach(() => shading.show(shadesOf(tree)));
  it("of clusters do not change", () => {
    expect([color(0), color(1), color(11)]).toEqual([CATEGORIES[0], CATEGORIES[1], CATEGORIES[1]]);
  });
  it("of coarser patterns are those of the largest cluster inside", () => {
    expect(color(1000)).toBe(CATEGORIES[0]);
  });
  it("of parts are shades of their cluster, all different, in the order of the tree", () => {
    const parts = [1005, 1006, 1004].map((number) => color(number));
    expect(parts).toEqual([1 / 6, 1 / 2, 5 / 6].map((at) => shadeColor(0, at)));
    expect(color(1003)).toBe(shadeColor(0, 1 / 3));
    expect(new Set([...parts, color(1003), color(1007), color(1008)]).size).toBe(6);
    expect([shadeColor(3, 0), shadeColor(3, 1)]).toEqual(SHADES[3]);
  });
  it("keep the mark of the cluster", () => {
    const shifted: NodeRow[] = tree.nodes.map((node) => ({
      ...node,
      cluster: node.cluster === null ? null : node.cluster + 12,
    }));
    shading.show(shadesOf({ ...tree, nodes: shifted }));
    expect([1000, 1003, 1007, 12].map(categoryMark)).toEqual([1, 1, 1, 1]);
  });
});
