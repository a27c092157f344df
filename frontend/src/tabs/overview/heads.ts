// Everything known about each head: its statistics, and the shares of its maps in the clusters.
import type { Findings, HeadRow, Profile, Profiles } from "../../lib/api";
import type { HeadCounts } from "../../lib/counts";

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
  changes: Record<string, number>; // share of its variation that each column explains, at least 0
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
 * The same, from the maps of each head in each of `clusters`: there is no table of profiles before correlate, and for
 * other levels of a tree. `threshold` is the smallest share of a head's maps in one cluster at which it has one job.
 */
export function mixesFromCounts({ slots, maps, total }: HeadCounts, clusters: number[], threshold: number) {
  const mixes = new Map<number, Mix>();
  for (let slot = 0; slot < slots; slot++) {
    if (!total[slot]) continue;
    const parts = clusters
      .map((cluster, row) => ({ cluster, share: maps[row * slots + slot] / total[slot] }))
      .filter((part) => part.share > 0)
      .sort(byShare);
    const entropy = parts.reduce((sum, { share }) => sum - share * Math.log(share), 0);
    const [{ cluster: main, share: mainShare }] = parts;
    const oneJob = main >= 0 && mainShare >= threshold;
    mixes.set(slot, { parts, main, mainShare, entropy, oneJob, related: [] });
  }
  return mixes;
}

/** All that is known about each head; `columns` are those with which heads change. */
export function joined(
  rows: HeadRow[],
  mixes: Map<number, Mix> | null,
  across: number,
  columns: Findings["columns"] = [],
): Head[] {
  const changes = new Map<number, Record<string, number>>();
  for (const { column, explained } of columns)
    for (const entry of explained) {
      const slot = entry.layer * across + entry.head;
      changes.set(slot, { ...changes.get(slot), [column]: Math.max(0, entry.explained) });
    }
  return rows.map((row) => {
    const slot = row.layer * across + row.head;
    const known = { mix: mixes?.get(slot) ?? null, changes: changes.get(slot) ?? {} };
    return { layer: row.layer, head: row.head, kind: row.kind, slot, row, ...known };
  });
}
