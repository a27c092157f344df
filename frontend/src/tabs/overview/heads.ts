// What is known of each head, put together: its statistics, and how its maps share in the clusters.
import type { HeadRow, Profile, Profiles } from "../../lib/api";
import { decodeLabel } from "../../lib/encoding";

export interface Part {
  cluster: number;
  share: number;
}
export interface Mix {
  parts: Part[]; // the largest first; none that are empty
  main: number | null;
  mainShare: number | null;
  entropy: number | null; // nats
  oneJob: boolean;
  related: Profile["related"];
}
export interface Head {
  layer: number;
  head: number;
  kind: string;
  slot: number; // its place in buffers of (layer, head)
  row: HeadRow;
  mix: Mix | null;
}

export const shareOf = (mix: Mix | null, cluster: number) =>
  mix?.parts.find((one) => one.cluster === cluster)?.share ?? 0;

const byShare = (a: Part, b: Part) => b.share - a.share || a.cluster - b.cluster;

/** The mixes of all heads by slot, from the table of profiles. */
export function mixesOf(profiles: Profiles, across: number): Map<number, Mix> {
  const mix = (one: Profile): Mix => ({
    parts: one.shares
      .map((share, at) => ({ cluster: profiles.clusters[at], share }))
      .filter((part) => part.share > 0)
      .sort(byShare),
    main: one.main_cluster,
    mainShare: one.main_share,
    entropy: one.entropy,
    oneJob: one.one_job,
    related: one.related,
  });
  return new Map(profiles.heads.map((one) => [one.layer * across + one.head, mix(one)]));
}

/**
 * The same, counted from the labels of all maps: a clustering that is not correlated has no table of profiles.
 * `threshold` is the share of a head's maps in one cluster from which on it has one job.
 */
export function mixesFromLabels(labels: Uint16Array, slots: number, threshold: number): Map<number, Mix> {
  const counts = Array.from({ length: slots }, () => new Map<number, number>());
  for (let i = 0; i < labels.length; i++) {
    const cluster = decodeLabel(labels[i]);
    if (cluster === null) continue;
    const own = counts[i % slots];
    own.set(cluster, (own.get(cluster) ?? 0) + 1);
  }
  const found = new Map<number, Mix>();
  counts.forEach((own, slot) => {
    const total = [...own.values()].reduce((sum, one) => sum + one, 0);
    if (!total) return;
    const parts = [...own].map(([cluster, count]) => ({ cluster, share: count / total })).sort(byShare);
    const entropy = parts.reduce((sum, { share }) => sum - share * Math.log(share), 0);
    const oneJob = parts[0].cluster >= 0 && parts[0].share >= threshold;
    found.set(slot, { parts, main: parts[0].cluster, mainShare: parts[0].share, entropy, oneJob, related: [] });
  });
  return found;
}

export const joined = (rows: HeadRow[], mixes: Map<number, Mix> | null, across: number): Head[] =>
  rows.map((row) => {
    const slot = row.layer * across + row.head;
    return { layer: row.layer, head: row.head, kind: row.kind, slot, row, mix: mixes?.get(slot) ?? null };
  });

export interface Telling {
  statistic: number;
  mean: number;
  deviation: number | null;
  away: number; // from the mean of all heads, in standard deviations between heads
}

/** Mean and standard deviation between heads of each statistic; null where fewer than two heads have it. */
export function between(heads: Head[]): ({ mean: number; deviation: number } | null)[] {
  return (heads[0]?.row.mean ?? []).map((_, at) => {
    const values = heads
      .map((one) => one.row.mean[at])
      .filter((value) => value !== null && Number.isFinite(value)) as number[];
    if (values.length < 2) return null;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
  });
}

/** The statistics in which a head differs most from the mean of all heads. */
export function telling(head: Head, all: ReturnType<typeof between>, most: number): Telling[] {
  const found: Telling[] = [];
  head.row.mean.forEach((mean, statistic) => {
    const whole = all[statistic];
    if (mean === null || !whole || whole.deviation < 1e-9) return;
    found.push({
      statistic,
      mean,
      deviation: head.row.deviation[statistic],
      away: (mean - whole.mean) / whole.deviation,
    });
  });
  return found.sort((a, b) => Math.abs(b.away) - Math.abs(a.away)).slice(0, most);
}
