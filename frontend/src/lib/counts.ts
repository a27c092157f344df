// Counting the maps of each head in each cluster: one pass over the labels or leaves of all maps.
import { CODES, encodeLabel, MISSING } from "./encoding";

export interface HeadCounts {
  slots: number; // layers × heads
  maps: Uint32Array; // (cluster, slot), clusters in the order given
  total: Uint32Array; // maps of each slot in any cluster
}

/** How many maps of each head lie in each cluster. */
export function countHeads(labels: Uint16Array, slots: number, clusters: number[]): HeadCounts {
  const rowOf = new Int32Array(CODES).fill(-1);
  clusters.forEach((cluster, at) => (rowOf[encodeLabel(cluster)] = at));
  const maps = new Uint32Array(clusters.length * slots);
  const total = new Uint32Array(slots);
  for (let first = 0; first + slots <= labels.length; first += slots) {
    for (let slot = 0; slot < slots; slot++) {
      const label = labels[first + slot];
      if (label === MISSING) continue;
      total[slot]++;
      const at = rowOf[label];
      if (at >= 0) maps[at * slots + slot]++;
    }
  }
  return { slots, maps, total };
}

/** Share of each head's maps in the cluster at `row`; NaN where there is no such head. */
export function sharesOf(counts: HeadCounts, row: number): Float32Array {
  const shares = new Float32Array(counts.slots);
  for (let slot = 0; slot < counts.slots; slot++)
    shares[slot] = counts.total[slot] ? counts.maps[row * counts.slots + slot] / counts.total[slot] : NaN;
  return shares;
}

/** The heads of which the cluster at `row` has at least a share of the maps, the largest share first. */
export function headsWith(counts: HeadCounts, row: number, heads: number, least: number) {
  return [...sharesOf(counts, row)]
    .map((share, slot) => ({ layer: Math.floor(slot / heads), head: slot % heads, share }))
    .filter(({ share }) => share >= least)
    .sort((a, b) => b.share - a.share || a.layer - b.layer || a.head - b.head);
}

/** Maps of each head in the leaves of a tree before each leaf: (leaf + 1, slot). */
export interface LeafCounts {
  slots: number;
  before: Uint32Array;
}

export function countLeaves(leaves: Uint16Array, slots: number, count: number): LeafCounts {
  const before = new Uint32Array((count + 1) * slots);
  for (let first = 0; first + slots <= leaves.length; first += slots)
    for (let slot = 0; slot < slots; slot++) {
      const leaf = leaves[first + slot];
      if (leaf !== MISSING) before[(leaf + 1) * slots + slot]++;
    }
  for (let at = slots; at < before.length; at++) before[at] += before[at - slots];
  return { slots, before };
}

/** How many maps of each head lie in each range of leaves. */
export function countRanges(
  { slots, before }: LeafCounts,
  ranges: { first_leaf: number; last_leaf: number }[],
): HeadCounts {
  const maps = new Uint32Array(ranges.length * slots);
  ranges.forEach(({ first_leaf, last_leaf }, row) => {
    for (let slot = 0; slot < slots; slot++)
      maps[row * slots + slot] = before[(last_leaf + 1) * slots + slot] - before[first_leaf * slots + slot];
  });
  return { slots, maps, total: before.slice(before.length - slots) };
}
