// All heads as a table for export: one row per head.
import type { AtlasCard, ClusterRow } from "../../lib/api";
import { UNITS, type Table } from "../../lib/csv";
import { shareOf, type Head } from "./heads";

export function headTable(atlas: Pick<AtlasCard, "statistics">, heads: Head[], clusters: ClusterRow[]): Table {
  const names = new Map(clusters.map((row) => [row.cluster, row.name]));
  const mixed = heads.some((head) => head.mix);
  const shares = mixed ? clusters.map((row) => `share:${row.cluster} ${row.name}`) : [];
  const statistics = atlas.statistics.flatMap(({ name, unit }) =>
    ["mean", "deviation"].map((kind) => ({ column: `${kind}:${name}`, unit })),
  );
  const clusterColumns = mixed ? ["main_cluster", "name", "main_share", "entropy", "one_job", ...shares] : [];
  return {
    columns: ["layer", "head", "kind", ...clusterColumns, ...statistics.map(({ column }) => column)],
    units: Object.fromEntries([
      ...Object.entries(UNITS),
      ...shares.map((column) => [column, "share of maps"]),
      ...statistics.map(({ column, unit }) => [column, unit]),
    ]),
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
