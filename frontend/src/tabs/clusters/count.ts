// Counting maps of clusters, from the column of labels: one pass over all maps.
import { CODES, encodeLabel, MISSING } from "../../lib/encoding";

export interface HeadCounts {
  slots: number; // layers × heads
  maps: Uint32Array; // (cluster, slot), clusters in the order asked for
  total: Uint32Array; // maps of each slot, of whatever cluster
}

/** How many maps of each head lie in each cluster. */
export function countHeads(labels: Uint16Array, slots: number, clusters: number[]): HeadCounts {
  const row = new Int32Array(CODES).fill(-1);
  clusters.forEach((cluster, at) => (row[encodeLabel(cluster)] = at));
  const maps = new Uint32Array(clusters.length * slots);
  const total = new Uint32Array(slots);
  for (let first = 0; first + slots <= labels.length; first += slots) {
    for (let slot = 0; slot < slots; slot++) {
      const label = labels[first + slot];
      if (label === MISSING) continue;
      total[slot]++;
      const at = row[label];
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

/** The layer in the middle of a cluster's maps, to sort by. */
export function middleLayer(counts: HeadCounts, row: number, heads: number): number {
  let weighted = 0;
  let all = 0;
  for (let slot = 0; slot < counts.slots; slot++) {
    const maps = counts.maps[row * counts.slots + slot];
    weighted += maps * Math.floor(slot / heads);
    all += maps;
  }
  return all ? weighted / all : Infinity;
}

export interface Present {
  example: number;
  maps: number;
  total: number;
}

/** The examples of which the largest share of maps lies in a cluster, and how many have as much as the first. */
export function mostPresent(labels: Uint16Array, slots: number, cluster: number, most: number) {
  const wanted = encodeLabel(cluster);
  const found: Present[] = [];
  let tied = 0;
  let somewhere = 0;
  const examples = slots ? Math.floor(labels.length / slots) : 0;
  const share = (one: Present) => one.maps / one.total;
  for (let example = 0; example < examples; example++) {
    let maps = 0;
    let total = 0;
    for (let at = example * slots; at < (example + 1) * slots; at++) {
      if (labels[at] === MISSING) continue;
      total++;
      if (labels[at] === wanted) maps++;
    }
    if (!maps) continue;
    somewhere++;
    const own = maps / total;
    if (!found.length || own > share(found[0])) tied = 1;
    else if (own === share(found[0])) tied++;
    if (found.length === most && own <= share(found[most - 1])) continue;
    let place = found.length; // equals stay in the order of the dataset
    while (place > 0 && share(found[place - 1]) < own) place--;
    found.splice(place, 0, { example, maps, total });
    if (found.length > most) found.pop();
  }
  return { found, tied, somewhere, examples };
}
