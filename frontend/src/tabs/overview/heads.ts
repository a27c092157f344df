// Everything known about each head: its statistics, and the shares of its maps in the clusters.
import type { HeadRow, Profile, Profiles } from "../../lib/api";
import { decodeLabel } from "../../lib/encoding";

export interface Part {
  cluster: number;
  share: number;
}
export interface Mix {
  parts: Part[]; // the largest first, without empty ones
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
  mix?.parts.find((part) => part.cluster === cluster)?.share ?? 0;

const byShare = (a: Part, b: Part) => b.share - a.share || a.cluster - b.cluster;

/** The mixes of all heads by slot, from the table of profiles. */
export function mixesOf(profiles: Profiles, across: number): Map<number, Mix> {
  const mix = (profile: Profile): Mix => ({
    parts: profile.shares
      .map((share, at) => ({ cluster: profiles.clusters[at], share }))
      .filter((part) => part.share > 0)
      .sort(byShare),
    main: profile.main_cluster,
    mainShare: profile.main_share,
    entropy: profile.entropy,
    oneJob: profile.one_job,
    related: profile.related,
  });
  return new Map(profiles.heads.map((profile) => [profile.layer * across + profile.head, mix(profile)]));
}

/**
 * The same, counted from the labels of all maps: a clustering that is not correlated has no table of profiles.
 * `threshold` is the smallest share of a head's maps in one cluster at which it has one job.
 */
export function mixesFromLabels(labels: Uint16Array, slots: number, threshold: number): Map<number, Mix> {
  const counts = Array.from({ length: slots }, () => new Map<number, number>());
  for (let i = 0; i < labels.length; i++) {
    const cluster = decodeLabel(labels[i]);
    if (cluster === null) continue;
    const headCounts = counts[i % slots];
    headCounts.set(cluster, (headCounts.get(cluster) ?? 0) + 1);
  }
  const mixes = new Map<number, Mix>();
  counts.forEach((headCounts, slot) => {
    const total = [...headCounts.values()].reduce((sum, count) => sum + count, 0);
    if (!total) return;
    const parts = [...headCounts].map(([cluster, count]) => ({ cluster, share: count / total })).sort(byShare);
    const entropy = parts.reduce((sum, { share }) => sum - share * Math.log(share), 0);
    const oneJob = parts[0].cluster >= 0 && parts[0].share >= threshold;
    mixes.set(slot, { parts, main: parts[0].cluster, mainShare: parts[0].share, entropy, oneJob, related: [] });
  });
  return mixes;
}

export const joined = (rows: HeadRow[], mixes: Map<number, Mix> | null, across: number): Head[] =>
  rows.map((row) => {
    const slot = row.layer * across + row.head;
    return { layer: row.layer, head: row.head, kind: row.kind, slot, row, mix: mixes?.get(slot) ?? null };
  });
