// Which clustering is shown: the one in the address, else the latest that has been correlated, else the latest.
import type { AtlasCard, ClusterRow } from "./api";
import { route } from "./route.svelte";

export function currentClustering(atlas: AtlasCard): string | null {
  const named = atlas.clusterings.find((one) => one.name === route.params.of);
  const usable = atlas.clusterings.filter((one) => one.correlated);
  return (named ?? usable[usable.length - 1] ?? atlas.clusterings[atlas.clusterings.length - 1])?.name ?? null;
}

/** Names of clusters by number. */
export const clusterNames = (rows: ClusterRow[]) => new Map(rows.map((row) => [row.cluster, row.name]));
