// What the cells are colored by, and in which order they are shown.
import type { AtlasCard, Findings } from "../../lib/api";
import type { Extremes } from "../../lib/wording";
import { amountsOf, type Amounts } from "../../parts/grid/amounts";
import type { Head } from "./heads";

export interface Option {
  value: string;
  label: string;
  group?: string;
}
export type Coloring = { kind: "none" | "mix" | "main" | "job" } | Amounts;

type Columns = Pick<Findings["columns"][number], "column" | "label">[];
const STATISTIC = "stat:";
/** The name under which heads are colored by a statistic. */
export const statisticOf = (name: string) => STATISTIC + name;
const CHANGE = "change:";
/** The name under which heads are colored by how much they change with a column. */
export const changeOf = (column: string) => CHANGE + column;
const PROFILE: Record<string, { label: string; unit: string; value: (head: Head) => number | null }> = {
  main_share: {
    label: "share of the main cluster",
    unit: "share of a head's maps",
    value: (head) => head.mix?.mainShare ?? null,
  },
  entropy: {
    label: "entropy of a head's clusters",
    unit: "nats; 0: all maps in one",
    value: (head) => head.mix?.entropy ?? null,
  },
};

/** Statistics that at least one head has. */
const statistics = (atlas: AtlasCard, heads: Head[]): Option[] =>
  atlas.statistics
    .map((statistic, at) => ({
      value: STATISTIC + statistic.name,
      label: statistic.plain,
      group: "Statistics, mean of a head",
      at,
    }))
    .filter(({ at }) => heads.some((head) => head.row.mean[at] !== null))
    .map(({ value, label, group }) => ({ value, label, group }));

const changes = (columns: Columns): Option[] =>
  columns.map(({ column, label }) => ({ value: changeOf(column), label, group: "What the input changes" }));

const profiles = (): Option[] =>
  Object.entries(PROFILE).map(([value, { label }]) => ({ value, label, group: "Clusters of a head" }));

export function colorOptions(atlas: AtlasCard, heads: Head[], clustered: boolean, columns: Columns = []): Option[] {
  const group = "Clusters of a head";
  const clusterOptions: Option[] = [
    { value: "mix", label: "mix of clusters", group },
    { value: "main", label: "main cluster", group },
    { value: "job", label: "one job or several", group },
    ...profiles(),
  ];
  return [
    ...(clustered ? clusterOptions : []),
    ...changes(columns),
    ...statistics(atlas, heads),
    { value: "none", label: "nothing, maps only" },
  ];
}

export function sortOptions(atlas: AtlasCard, heads: Head[], clustered: boolean, columns: Columns = []): Option[] {
  const clusterOptions: Option[] = [
    { value: "cluster", label: "main cluster", group: "Clusters of a head" },
    ...profiles(),
  ];
  return [
    { value: "layer", label: "layer and head" },
    ...(clustered ? clusterOptions : []),
    ...changes(columns),
    ...statistics(atlas, heads),
  ];
}

/** A value for each head, or null if the name is unknown. */
function valuesOf(by: string, atlas: AtlasCard, heads: Head[]): Pick<Amounts, "label" | "unit" | "values"> | null {
  if (Object.hasOwn(PROFILE, by)) {
    const { label, unit, value } = PROFILE[by];
    return { label, unit, values: heads.map(value) };
  }
  if (by.startsWith(CHANGE)) {
    const column = by.slice(CHANGE.length);
    const values = heads.map((head) => (Object.hasOwn(head.changes, column) ? head.changes[column] : null));
    return { label: `change with ${column}`, unit: "share of a head's variation that it explains", values };
  }
  const at = by.startsWith(STATISTIC)
    ? atlas.statistics.findIndex((statistic) => STATISTIC + statistic.name === by)
    : -1;
  if (at < 0) return null;
  return {
    label: atlas.statistics[at].plain,
    unit: atlas.statistics[at].unit,
    values: heads.map((head) => head.row.mean[at]),
  };
}

/** The heads with the largest and the smallest value of what they are sorted or colored by; null if that is no number. */
export function extremes(by: string, atlas: AtlasCard, heads: Head[]): Extremes | null {
  const amounts = valuesOf(by, atlas, heads);
  if (!amounts) return null;
  const known = heads.flatMap((head, at) => {
    const value = amounts.values[at];
    return value === null ? [] : [{ head, value }];
  });
  if (!known.length) return null;
  const [lowest, highest] = known.reduce(
    ([least, most], entry) => [entry.value < least.value ? entry : least, entry.value > most.value ? entry : most],
    [known[0], known[0]],
  );
  return {
    label: amounts.label,
    highest,
    lowest,
    mean: known.reduce((sum, { value }) => sum + value, 0) / known.length,
  };
}

/** How to color by a name; values of both signs get a diverging scale centered at zero. */
export function coloringOf(by: string, atlas: AtlasCard, heads: Head[]): Coloring {
  if (by === "none" || by === "mix" || by === "main" || by === "job") return { kind: by };
  const named = valuesOf(by, atlas, heads);
  return (named && amountsOf(named)) ?? { kind: "none" };
}

/** Indices of the heads in the order shown; null keeps the order of layers and heads. `clusters`: the largest first. */
export function orderOf(by: string, up: boolean, atlas: AtlasCard, heads: Head[], clusters: number[]): number[] | null {
  const indices = heads.map((_, at) => at);
  const sign = up ? -1 : 1;
  if (by === "cluster" && heads.some((head) => head.mix)) {
    const rank = new Map(clusters.map((cluster, at) => [cluster, at]));
    const clusterRank = (at: number) => rank.get(heads[at].mix?.main ?? NaN) ?? clusters.length;
    const share = (at: number) => heads[at].mix?.mainShare ?? 0;
    return indices.sort((a, b) => sign * (clusterRank(a) - clusterRank(b)) || share(b) - share(a) || a - b);
  }
  const values = valuesOf(by, atlas, heads)?.values;
  if (!values) return null;
  const unknown = (at: number) => Number(values[at] === null); // last in both directions
  return indices.sort((a, b) => unknown(a) - unknown(b) || sign * ((values[b] ?? 0) - (values[a] ?? 0)) || a - b);
}
