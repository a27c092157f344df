// Clusters in words: how sure one can be, where they live, what tells them apart.
import type { AtlasCard, ClusterRow } from "../../lib/api";
import { amount, plural, percent } from "../../lib/format";
import { statistic } from "../../lib/statistics";

export const STABLE = 0.85;
export const FAIR = 0.6;
export type Sort = "size" | "stability" | "layer" | "name";

export function stabilityWord(value: number | null): string {
  if (value === null) return "stability not known";
  return value >= STABLE ? "stable" : value >= FAIR ? "fair" : "shaky";
}

/** A measure up to 1, in two digits; never 1.00 unless it is. */
export function ratio(value: number | null): string {
  if (value === null) return "–";
  if (value >= 0.995 && value < 1) return ">\u202f0.99";
  return value.toFixed(2).replace("-", "−");
}

/** Two digits of small values, so that means that differ look different. */
export const digits = (value: number | null) =>
  value !== null && Math.abs(value) >= 0.001 && Math.abs(value) < 0.1
    ? value.toPrecision(2).replace("-", "−")
    : amount(value);

export const stability = (value: number | null) =>
  value === null ? stabilityWord(value) : `${stabilityWord(value)} (${ratio(value)})`;

/** A name as a sentence begins. */
export const begin = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** The heads that the table names, without their shares. */
export const namedHeads = (row: ClusterRow) => row.heads.match(/L\d+·H\d+/g) ?? [];

/** Where it lives, in a few words. */
export function home(row: ClusterRow, most = 3): string {
  const heads = namedHeads(row);
  const count = Math.max(row.n_heads ?? 0, heads.length);
  if (!heads.length) return !row.layers || row.layers === "spread" ? "in no layer or head above all" : layersOf(row);
  const shown = heads.slice(0, count <= most + 1 ? count : most);
  const more = count - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${plural(more, "more head")}` : "");
}

export const layersOf = (row: ClusterRow) =>
  !row.layers
    ? ""
    : row.layers === "spread"
      ? "no layer above all"
      : `layer${/^\d+$/.test(row.layers) ? "" : "s"} ${row.layers}`;

export function clusterSentence(row: ClusterRow): string {
  const size = `${begin(row.name)}: ${plural(row.maps, "map")} (${percent(row.share)})`;
  if (row.cluster < 0) return `${size} that belong to no cluster.`;
  const lives = row.heads || row.layers ? `, lives in ${home(row).replace(/^in /, "")}` : "";
  return `${size}, ${stability(row.stability)}${lives}.`;
}

export function allSentence(rows: ClusterRow[]): string {
  const real = rows.filter((row) => row.cluster >= 0);
  const maps = rows.reduce((sum, row) => sum + row.maps, 0);
  if (!real.length) return `All ${plural(maps, "map")} are noise: no pattern was found.`;
  const tally = ["stable", "fair", "shaky"].map(
    (word) => [real.filter((row) => stabilityWord(row.stability) === word).length, word] as const,
  );
  const sure = tally
    .filter(([count]) => count)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
  const first = real.reduce((best, row) => (row.maps > best.maps ? row : best));
  const noise = rows.find((row) => row.cluster < 0);
  const rest = noise?.maps ? `; ${percent(noise.share)} belong to none` : "";
  return `${plural(maps, "map")} fall into ${plural(real.length, "pattern")}${sure ? `: ${sure}` : ""}; the largest, “${first.name}”, holds ${percent(first.share)}${rest}.`;
}

export interface Reason {
  statistic: string; // in plain words
  inside: string;
  outside: string;
  delta: string;
}

export function plainName(atlas: AtlasCard, name: string): string {
  return atlas.statistics.find((one) => one.name === name)?.plain ?? statistic(name)?.label ?? name;
}

/** The evidence of a cluster's name, piece by piece; what is not of the known form stays as it is. */
export function reasons(atlas: AtlasCard, evidence: string): (Reason | string)[] {
  if (!evidence) return [];
  const form = /^(?:most telling of [^:]+: )?(.+?) (-?[\d.]+) against (-?[\d.]+), delta (-?[\d.]+(?: \[[^\]]*\])?)$/;
  return evidence.split("; ").map((part) => {
    const found = form.exec(part);
    if (!found) return part;
    const [inside, outside] = [found[2], found[3]].map((text) => amount(Number(text)));
    return { statistic: begin(plainName(atlas, found[1])), inside, outside, delta: found[4].replaceAll("-", "−") };
  });
}

/** Rows whose name (or number) holds the words, in order; noise stays last. */
export function arrange(
  rows: ClusterRow[],
  sort: Sort,
  words: string,
  layer: (row: ClusterRow) => number,
): ClusterRow[] {
  const sought = words.trim().toLowerCase();
  const kept = rows.filter(
    (row) => !sought || row.name.toLowerCase().includes(sought) || String(row.cluster) === sought,
  );
  const by: Record<Sort, (a: ClusterRow, b: ClusterRow) => number> = {
    size: (a, b) => b.maps - a.maps,
    stability: (a, b) => (b.stability ?? -1) - (a.stability ?? -1),
    layer: (a, b) => layer(a) - layer(b),
    name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  };
  return kept.sort((a, b) => Number(a.cluster < 0) - Number(b.cluster < 0) || by[sort](a, b) || a.cluster - b.cluster);
}
