// All heads as a table for export.
import type { AtlasCard, ClusterRow } from "../../lib/api";
import type { Table } from "../../lib/export";
import { shareOf, type Head } from "./heads";

export function headTable(atlas: AtlasCard, heads: Head[], clusters: ClusterRow[]): Table {
  const names = new Map(clusters.map((row) => [row.cluster, row.name]));
  const mixed = heads.some((head) => head.mix);
  const clusterColumns = mixed
    ? ["main_cluster", "name", "main_share", "entropy", "one_job", ...clusters.map((row) => `share:${row.cluster}`)]
    : [];
  return {
    columns: [
      "layer",
      "head",
      "kind",
      ...clusterColumns,
      ...atlas.statistics.flatMap(({ name }) => [`mean:${name}`, `deviation:${name}`]),
    ],
    rows: heads.map((head) => [
      head.layer,
      head.head,
      head.kind,
      ...(mixed
        ? [
            head.mix?.main,
            names.get(head.mix?.main ?? NaN),
            head.mix?.mainShare,
            head.mix?.entropy,
            head.mix && String(head.mix.oneJob),
            ...clusters.map((row) => head.mix && shareOf(head.mix, row.cluster)),
          ]
        : []),
      ...atlas.statistics.flatMap((_, at) => [head.row.mean[at], head.row.deviation[at]]),
    ]),
  };
}
