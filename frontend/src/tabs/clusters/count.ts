// In which layers and examples the maps of a cluster are.
import type { HeadCounts } from "../../lib/counts";
import { encodeLabel, MISSING } from "../../lib/encoding";

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
