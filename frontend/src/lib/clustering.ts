// The current clustering: the one in the URL, else the latest that has been correlated, else the latest.
import type { AtlasCard, ClusterRow } from "./api";
import { route } from "./route.svelte";

export function currentClustering(atlas: AtlasCard): string | null {
  const named = atlas.clusterings.find((card) => card.name === route.params.of);
  const correlated = atlas.clusterings.filter((card) => card.correlated);
  return (named ?? correlated[correlated.length - 1] ?? atlas.clusterings[atlas.clusterings.length - 1])?.name ?? null;
}

/** Cluster names by number. */
export const clusterNames = (rows: ClusterRow[]) => new Map(rows.map((row) => [row.cluster, row.name]));
