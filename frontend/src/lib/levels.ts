// The patterns of a tree at one of its levels: which nodes they are, their maps, heads and colors.
import type { ClusteringCard, ClusterRow, Clusters, NodeRow, Tree } from "./api";
import { headsWith, type HeadCounts } from "./counts";
import { CODES, MISSING, NOISE } from "./encoding";
import { clamp } from "./math";
import type { Shade } from "./shading.svelte";

const FIRST_NODE = 1000; // numbers of nodes follow those of clusters, of which a tree has at most as many as leaves

/** The number of a pattern: that of the cluster it is at the default level, else 1000 + its node. */
export const numberOf = ({ node, cluster }: Pick<NodeRow, "node" | "cluster">) => cluster ?? FIRST_NODE + node;

/** Whether a number is that of a node that is not a cluster of the default level. */
export const isNode = (number: number) => number >= FIRST_NODE;

export const nodeOf = (tree: Tree, number: number) => tree.nodes.find((node) => numberOf(node) === number);

/** The level of an address; without one, or with something else, the default. */
export const readLevel = (text: string | undefined, { clusters, finest }: ClusteringCard) =>
  finest !== null && /^\d{1,4}$/.test(text ?? "") ? clamp(Number(text), 1, finest) : clusters;

/** The level nearest to `level` at which a node is a pattern. */
export const levelWith = (node: NodeRow, level: number) => clamp(level, node.coarsest, node.finest);

export const isAt = (node: NodeRow, level: number) => node.coarsest <= level && level <= node.finest;

/** The nodes that are the patterns at a level, the largest first. */
export const cutAt = (tree: Tree, level: number): NodeRow[] =>
  tree.nodes.filter((node) => isAt(node, level)).sort((a, b) => b.maps - a.maps || numberOf(a) - numberOf(b));

/** Whether one node contains another, or is the same. */
export const contains = (outer: NodeRow, inner: NodeRow) =>
  outer.first_leaf <= inner.first_leaf && inner.last_leaf <= outer.last_leaf;

/** The label of each map: the number of its node, NOISE if it is in none of them. */
export function labelsOf(leaves: Uint16Array, nodes: NodeRow[]): Uint16Array {
  const label = new Uint16Array(CODES).fill(NOISE);
  label[MISSING] = MISSING;
  for (const node of nodes) label.fill(numberOf(node), node.first_leaf, node.last_leaf + 1);
  const labels = new Uint16Array(leaves.length);
  for (let i = 0; i < leaves.length; i++) labels[i] = label[leaves[i]];
  return labels;
}

/** A node as a row of clusters: its heads are counted; what correlate tests for clusters is left out. */
export function rowOf(node: NodeRow, heads: ClusterRow["heads"]): ClusterRow {
  return {
    cluster: numberOf(node),
    name: node.name,
    ...(node.automatic !== undefined && { automatic: node.automatic }),
    phrases: node.phrases,
    maps: node.maps,
    share: node.share,
    stability: node.stability,
    layers: null,
    heads,
    mostly: heads.length,
    head_entropy: null,
    examples: null,
    reasons: node.reasons,
    named: node.named,
    distinction: node.distinction,
    statistics: 0,
    association: null,
    typical: [],
    unlike: [],
    nulls: [],
  };
}

/** The clusters of a clustering at another level; patterns that are also clusters at the default level stay as they are. */
export function clustersAt(flat: Clusters, tree: Tree, level: number, counts: HeadCounts, heads: number): Clusters {
  const { mostly, one_job } = flat.thresholds;
  const rows = cutAt(tree, level).map(
    (node, row) =>
      flat.clusters.find(({ cluster }) => cluster === node.cluster) ??
      rowOf(node, headsWith(counts, row, heads, mostly)),
  );
  const busy = new Set(
    rows.flatMap((_, row) => headsWith(counts, row, heads, one_job).map(({ layer, head }) => layer * heads + head)),
  );
  const jobs = { heads: counts.total.reduce((sum, maps) => sum + Number(maps > 0), 0), one_job: busy.size };
  const untested = { quality: [], associations: [], locality: [] };
  return { ...flat, ...untested, sentence: tree.sentences[level - 1], jobs, clusters: rows };
}

/**
 * The colors of all nodes that are not clusters of the default level. A node above it has the color of the largest
 * cluster inside; parts of a cluster have shades of its hue, spread evenly over those of the finest level.
 */
export function shadesOf(tree: Tree): Map<number, Shade> {
  const finest = tree.sentences.length;
  const clusters = cutAt(tree, tree.default);
  const parts = tree.nodes.filter((node) => node.finest === finest).sort((a, b) => a.first_leaf - b.first_leaf);
  const shades = new Map<number, Shade>();
  for (const node of tree.nodes) {
    if (node.cluster !== null) continue;
    const inside = clusters.find((cluster) => contains(node, cluster)); // the first is the largest
    const outer = clusters.find((cluster) => contains(cluster, node));
    const siblings = parts.filter((part) => outer && contains(outer, part));
    const places = siblings.flatMap((part, at) => (contains(node, part) ? [at] : []));
    const middle = (places[0] + places[places.length - 1] + 1) / 2 / siblings.length;
    shades.set(
      numberOf(node),
      inside ? { category: inside.cluster!, at: null } : { category: outer!.cluster!, at: middle },
    );
  }
  return shades;
}

/** A line of the tree: a node above a level, at it, or one step below it. */
export interface Line {
  node: NodeRow;
  depth: number;
  place: "above" | "at" | "below";
}

/** The tree from the root down to the parts of the patterns at a level. */
export function outline(tree: Tree, level: number): Line[] {
  const parts = new Map<number | null, NodeRow[]>();
  for (const node of tree.nodes) parts.set(node.parent, [...(parts.get(node.parent) ?? []), node]);
  const lines: Line[] = [];
  const visit = (node: NodeRow, depth: number, below: boolean) => {
    const at = isAt(node, level);
    lines.push({ node, depth, place: below ? "below" : at ? "at" : "above" });
    if (below) return;
    const inside = [...(parts.get(node.node) ?? [])].sort((a, b) => a.first_leaf - b.first_leaf);
    for (const part of inside) visit(part, depth + 1, at);
  };
  for (const root of parts.get(null) ?? []) visit(root, 0, false);
  return lines;
}
