// Clusters, and the heads and layers they belong to, in words; as in src/headatlas/wording.
import { FAIR, STABLE } from "../../generated/thresholds";
import type { Change, ClusterRow, Clusters } from "../api";
import type { HeadRef } from "../selection.svelte";
import { amount, capitalize, count, interval, joinList, NBSP, pEquation, percent, plural, ratio } from "./numbers";

type HeadShare = ClusterRow["heads"][number];
type Reason = Omit<ClusterRow["reasons"][number], "plain">;
type GoesWith = NonNullable<ClusterRow["association"]>;
type Association = Clusters["associations"][number];
type Locality = Clusters["locality"][number];

const NOWHERE = "no particular layer";

export const headName = ({ layer, head }: HeadRef) => `L${layer}·H${head}`;

/** Names of the three kinds of layers in encoder-decoder models. */
export const kindNames = { encoder: "input–input", decoder: "output–output", cross: "input–output" } as const;

/** What a cluster is called; `phrases` is null before correlate, `ordinal` tells clusters of the same phrases apart. */
export function clusterName(cluster: number, phrases: string[] | null, ordinal = 1): string {
  if (cluster < 0) return "noise";
  if (phrases === null) return `cluster ${cluster}`;
  return (phrases.join(", ") || "mixed") + (ordinal > 1 ? ` ${ordinal}` : "");
}

/** Whole numbers in order, runs joined: `0–2, 5`. */
export function ranges(numbers: number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers) {
    const run = runs[runs.length - 1];
    if (run && number === run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (last > first ? `${first}–${last}` : `${first}`)).join(", ");
}

/** The layers of a cluster; if empty, it is spread over the model. */
export const layers = (numbers: number[]) =>
  numbers.length ? `layer${numbers.length > 1 ? "s" : ""} ${ranges(numbers)}` : NOWHERE;

/** The first heads as texts, and how many more there are; a single remaining head is included. */
function firstHeads(heads: HeadShare[], most: number, shares: boolean): [names: string[], rest: number] {
  const shown = heads.slice(0, heads.length <= most + 1 ? heads.length : most);
  const names = shown.map((head) => headName(head) + (shares ? `${NBSP}(${percent(head.share)})` : ""));
  return [names, heads.length - shown.length];
}

/** The first heads of a cluster, with their shares, and how many more there are. */
export function headList(heads: HeadShare[], most = 5): string {
  const [names, rest] = firstHeads(heads, most, true);
  return joinList(rest ? [...names, `${rest} more`] : names);
}

/** Whose pattern a cluster is; `mostly` is the smallest share at which it is the main pattern of a head. */
export function whose(heads: HeadShare[], mostly: number, most = 3): string {
  if (!heads.length) return "in no particular head";
  const [names, rest] = firstHeads(heads, most, false);
  const text = joinList(rest ? [...names, plural(rest, "more head")] : names);
  return `${heads[0].share >= mostly ? "the main pattern of" : "more frequent than expected in"} ${text}`;
}

/** Where a cluster occurs, for the end of a sentence: its heads, else its layers, else nowhere in particular. */
function home(row: ClusterRow, mostly: number): string {
  if (row.heads.length) return whose(row.heads, mostly);
  return row.layers?.length ? `in ${layers(row.layers)}` : `in ${NOWHERE} or head`;
}

export function stabilityWord(stability: number | null): "stable" | "fair" | "shaky" | "stability unknown" {
  if (stability === null || Number.isNaN(stability)) return "stability unknown";
  return stability >= STABLE ? "stable" : stability >= FAIR ? "fair" : "shaky";
}

/** How stability is measured and described, for help texts. */
export const stabilityHelp = `the overlap (Jaccard index) with the most similar cluster when the clustering is repeated on bootstrap samples; at least ${ratio(STABLE)} is called stable, at least ${ratio(FAIR)} fair, below that shaky`;

/** `stable (0.93)`. */
const stabilityText = (stability: number | null) =>
  stability === null || Number.isNaN(stability)
    ? stabilityWord(stability)
    : `${stabilityWord(stability)} (${ratio(stability)})`;

/** How large and how stable a cluster is. */
export function clusterSize(cluster: number, maps: number, share: number, stability: number | null): string {
  const size = `${plural(maps, "map")} (${percent(share)})`;
  return cluster < 0
    ? `${size} that belong${maps === 1 ? "s" : ""} to no cluster`
    : `${size}, ${stabilityText(stability)}`;
}

/** A cluster in one sentence. */
export function clusterSentence(row: ClusterRow, mostly: number): string {
  const size = clusterSize(row.cluster, row.maps, row.share, row.stability);
  const where = row.cluster < 0 || row.layers === null ? "" : `, ${home(row, mostly)}`;
  return `${capitalize(row.name)}: ${size}${where}.`;
}

/** One reason for the name of a cluster: a statistic in words. */
export const reason = (statistic: string, evidence: Reason) =>
  `${statistic} is ${amount(evidence.mean)}, in other maps ${amount(evidence.rest)} (delta ${interval(evidence.delta, evidence.low, evidence.high)})`;

/** The text before the reasons of a cluster that no phrase fits. */
export const notNamed = (statistics: number) =>
  statistics
    ? `no phrase fits; the most telling of ${plural(statistics, "statistic")}`
    : "no other maps to compare with";

/** All reasons for a cluster's name, one line per reason; none before correlate. */
export function reasonLines(row: ClusterRow): string[] {
  if (row.phrases === null || row.cluster < 0) return [];
  const lines = row.reasons.map((evidence) => reason(evidence.plain, evidence));
  return (row.named ? lines : [notNamed(row.statistics), ...lines]).map(capitalize);
}

/** The value of a column that goes with a cluster. */
export const association = (cell: GoesWith) =>
  `${cell.column} = ${cell.value}: ${amount(cell.ratio)} times as many maps as expected (${pEquation(cell.q, "q")})`;

export const noiseLine = (maps: number, share: number) =>
  `${plural(maps, "map")} (${percent(share)}) belong${maps === 1 ? "s" : ""} to no cluster`;

/** How many heads have one job. */
export function jobsLine(heads: number, oneJob: number, threshold: number): string {
  const [have, their] = heads === 1 ? ["has", "its"] : ["have", "their"];
  return `${count(oneJob)} of ${plural(heads, "head")} ${have} one job: at least ${percent(threshold)} of ${their} maps lie in one cluster`;
}

/** Whether heads of the same layer, or of adjacent layers, are alike. */
export function localityLine(locality: Omit<Locality, "difference" | "low" | "high">, significant: number): string {
  if (locality.similarity === null || locality.all_pairs === null || locality.p === null)
    return "too few layers to tell";
  const [others, pairs] =
    locality.neighbors === "same layer" ? ["any two", "all pairs"] : ["in any other order of layers", "any two layers"];
  const alike = locality.p < significant ? "more alike than" : "no more alike than";
  return `heads are ${alike} ${others}: similarity ${ratio(locality.similarity)}, ${pairs} ${ratio(locality.all_pairs)}, ${pEquation(locality.p)}`;
}

type Untested = NonNullable<Association["untested"] | Change["untested"]>;
const UNTESTED: Record<Untested, string> = {
  "one cluster": "one cluster only: nothing to test",
  "one value": "one value only: nothing to test",
  "one label per head": "each head has one label by construction: nothing to test",
  "same in all examples": "labels are the same in all examples: nothing to test",
  "few groups": "too few independent texts: nothing is tested",
  "same maps": "all maps are the same: nothing to test",
};

/** Why a factor cannot be tested. */
export const untested = (why: Untested) => UNTESTED[why];

const SHUFFLED: Record<NonNullable<Association["shuffled"]>, string> = {
  heads: "labels are shuffled over the heads of each example",
  examples: "labels are shuffled over the examples of each head",
  texts: "values are shuffled over whole texts",
  windows: "values differ within texts: whole texts with the same number of windows are swapped",
  grid: "heads are shuffled over the grid",
};

/** Notes on how an association was computed. */
export function associationNotes(row: Pick<Association, "untested" | "binned" | "left_out" | "shuffled">): string[] {
  return [
    row.untested ? untested(row.untested) : "",
    row.binned ? "numbers are binned at their quartiles" : "",
    row.left_out ? `${plural(row.left_out, "example")} without a value left out` : "",
    row.shuffled && !row.untested ? SHUFFLED[row.shuffled] : "",
  ].filter(Boolean);
}

/** Statements about all clusters together, without associations; each has a label and a text. */
export function overallLines({ jobs, locality, thresholds, clusters }: Clusters): { label: string; text: string }[] {
  const noise = clusters.find((row) => row.cluster < 0);
  return [
    ...(jobs ? [{ label: "jobs", text: jobsLine(jobs.heads, jobs.one_job, thresholds.one_job) }] : []),
    ...locality.map((row) => ({ label: row.neighbors, text: localityLine(row, thresholds.significant) })),
    ...(jobs && noise ? [{ label: "noise", text: noiseLine(noise.maps, noise.share) }] : []),
  ];
}

const AGREEMENT = "adjusted mutual information: 1 the same grouping, 0 chance";

/** Names of the measures of a clustering, and which direction is better. */
const MEASURES: Record<string, [name: string, meaning: string]> = {
  clusters: ["Clusters", "number of clusters"],
  noise: ["Noise", "share of maps in no cluster"],
  silhouette: ["Silhouette", "how much nearer maps are to their own cluster than to the next: 1 is best, 0 undecided"],
  davies_bouldin: ["Davies–Bouldin", "width of clusters against the distance between them: lower is better"],
  calinski_harabasz: [
    "Calinski–Harabasz",
    "spread between clusters against spread within: higher is better; compare it on the same data only",
  ],
  stability: ["Stability", "adjusted Rand index of clusterings of bootstrap samples: 1 is the same"],
  agreement_head: ["Agreement with heads", AGREEMENT],
  agreement_layer: ["Agreement with layers", AGREEMENT],
  agreement_example: ["Agreement with examples", AGREEMENT],
};

export const measureName = (measure: string) => MEASURES[measure]?.[0] ?? measure;

/** What a measure means, and how much data it was computed on. */
export function measureNotes({ measure, maps, pairs }: Clusters["quality"][number]): string[] {
  return [
    MEASURES[measure]?.[1] ?? "",
    pairs === null ? "" : `${count(pairs)} pairs of bootstrap samples`,
    maps === null ? "" : `n = ${plural(maps, "map")}`,
  ].filter(Boolean);
}
