// Clusters in the order of their cards.
import type { ClusterRow } from "../../lib/api";
import { fold } from "../../lib/search";

export type Sort = "size" | "stability" | "layer" | "name";

/** Rows whose name (or number) contains the words, in order; noise stays last. */
export function arrange(
  rows: ClusterRow[],
  sort: Sort,
  words: string,
  layer: (row: ClusterRow) => number,
): ClusterRow[] {
  const query = fold(words.trim());
  const matches = rows.filter((row) => !query || fold(row.name).includes(query) || String(row.cluster) === query);
  const by: Record<Sort, (a: ClusterRow, b: ClusterRow) => number> = {
    size: (a, b) => b.maps - a.maps,
    stability: (a, b) => (b.stability ?? -1) - (a.stability ?? -1),
    layer: (a, b) => layer(a) - layer(b),
    name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  };
  return matches.sort(
    (a, b) => Number(a.cluster < 0) - Number(b.cluster < 0) || by[sort](a, b) || a.cluster - b.cluster,
  );
}
