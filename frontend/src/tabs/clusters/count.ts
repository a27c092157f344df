// Counting maps of clusters, from the column of labels: one pass over all maps.
import { CODES, encodeLabel, MISSING } from "../../lib/encoding";

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

/** The mean layer of a cluster's maps, to sort by. */
export function middleLayer(counts: HeadCounts, row: number, heads: number): number {
  let weighted = 0;
  let total = 0;
  for (let slot = 0; slot < counts.slots; slot++) {
    const maps = counts.maps[row * counts.slots + slot];
    weighted += maps * Math.floor(slot / heads);
    total += maps;
  }
  return total ? weighted / total : Infinity;
}

export interface Present {
  example: number;
  maps: number;
  total: number;
}

/** The examples with the largest share of maps in a cluster, and how many tie with the first. */
export function mostPresent(labels: Uint16Array, slots: number, cluster: number, most: number) {
  const label = encodeLabel(cluster);
  const top: Present[] = [];
  let tied = 0;
  let occurring = 0;
  const examples = slots ? Math.floor(labels.length / slots) : 0;
  const shareOf = (entry: Present) => entry.maps / entry.total;
  for (let example = 0; example < examples; example++) {
    let maps = 0;
    let total = 0;
    for (let at = example * slots; at < (example + 1) * slots; at++) {
      if (labels[at] === MISSING) continue;
      total++;
      if (labels[at] === label) maps++;
    }
    if (!maps) continue;
    occurring++;
    const share = maps / total;
    if (!top.length || share > shareOf(top[0])) tied = 1;
    else if (share === shareOf(top[0])) tied++;
    if (top.length === most && share <= shareOf(top[most - 1])) continue;
    let place = top.length; // ties stay in the order of the dataset
    while (place > 0 && shareOf(top[place - 1]) < share) place--;
    top.splice(place, 0, { example, maps, total });
    if (top.length > most) top.pop();
  }
  return { top, tied, occurring, examples };
}
