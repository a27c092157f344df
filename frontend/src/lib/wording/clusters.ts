// Clusters, and the heads and layers they belong to, in words; as in src/headatlas/wording.
import { FAIR, STABLE } from "../../generated/thresholds";
import type { Change, ClusterRow, Clusters } from "../api";
import { names } from "../names.svelte";
import type { HeadRef } from "../selection.svelte";
import { nullStatement } from "./nulls";
import { amount, capitalize, count, joinList, NBSP, pEquation, percent, plural, ratio } from "./numbers";

type HeadShare = ClusterRow["heads"][number];
type GoesWith = NonNullable<ClusterRow["association"]>;
type Association = Clusters["associations"][number];
type Locality = Clusters["locality"][number];

const NOWHERE = "no particular layer";

/** The place of a head, where there is no room for more. */
export const headPlace = ({ layer, head }: HeadRef) => `L${layer}·H${head}`;

/** A head, with the name that a person gave it. */
export function headName(ref: HeadRef): string {
  const name = names.head(ref)?.name;
  return name ? `${headPlace(ref)} (${name})` : headPlace(ref);
}

/** Names of the three kinds of layers in encoder-decoder models. */
export const kindNames = { encoder: "input–input", decoder: "output–output", cross: "input–output" } as const;

/** What a cluster is called; `distinction` tells it from others of the same phrases, `phrases` is null before correlate. */
export function clusterName(cluster: number, phrases: string[] | null, distinction = ""): string {
  if (cluster < 0) return "noise";
  if (phrases === null) return `cluster ${cluster}`;
  return [...(phrases.length ? phrases : ["mixed"]), distinction].filter(Boolean).join(", ");
}

/** The automatic name of a pattern that a person renamed, for tooltips. */
export const automaticName = ({ automatic }: { automatic?: string }) =>
  automatic === undefined ? undefined : `Automatic name: ${automatic}`;

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

/** The first heads of a pattern in a table, and how many more there are. */
export function headNames(heads: HeadShare[], most = 3): string {
  const [names, rest] = firstHeads(heads, most, false);
  return [...names, ...(rest ? [`${count(rest)} more`] : [])].join(", ");
}

/** Where a cluster occurs; nothing if neither layers (null) nor heads are known. */
export function homeLine(row: Pick<ClusterRow, "layers" | "heads">, mostly: number): string {
  if (row.layers === null) return row.heads.length ? whose(row.heads, mostly) : "";
  return `${layers(row.layers)}; ${whose(row.heads, mostly)}`;
}

/** A cluster in one sentence. */
export function clusterSentence(row: ClusterRow, mostly: number): string {
  const name = row.automatic === undefined ? capitalize(row.name) : row.name; // a person's name stays as it was typed
  const size = clusterSize(row.cluster, row.maps, row.share, row.stability);
  const unknown = row.cluster < 0 || (row.layers === null && !row.heads.length);
  const where = unknown ? "" : `, ${home(row, mostly)}`;
  return `${name}: ${size}${where}.`;
}

/** At which numbers of patterns a node of a tree is one of them. */
export const levelRange = (coarsest: number, finest: number) =>
  coarsest === finest ? plural(finest, "pattern") : `${coarsest} to ${plural(finest, "pattern")}`;

/** How a node of a tree relates to the clusters of the default level, for which there are tests and typical maps. */
export const nodeClusters = (inside: boolean, clusters: number, all: number) =>
  inside
    ? `It holds ${clusters} of the ${count(all)} patterns of the default level. Tests and typical maps are of these, not of the whole.`
    : `It is a part of this pattern of the default level. Tests and typical maps are of the whole pattern, not of this part.`;

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

/** That there are too few independent texts for a test. */
export const fewTexts = (groups: number, least: number) =>
  `too few texts to test (${count(groups)}, ${count(least)} are needed)`;

/** The same for a clustering; empty if there are enough, or before correlate. */
export const fewTextsOf = ({ groups, thresholds }: Pick<Clusters, "groups" | "thresholds">) =>
  groups !== null && groups < thresholds.groups ? fewTexts(groups, thresholds.groups) : "";

/** Whether heads of the same layer, or of adjacent layers, are alike; `few`: that there are too few texts to test. */
export function localityLine(
  { neighbors, similarity, all_pairs, p }: Pick<Locality, "neighbors" | "similarity" | "all_pairs" | "p">,
  significant: number,
  few = "",
): string {
  if (similarity === null || all_pairs === null || (p === null && !few)) return "too few layers to tell";
  const [others, pairs] =
    neighbors === "same layer" ? ["any two", "all pairs"] : ["in any other order of layers", "any two layers"];
  const numbers = `similarity ${ratio(similarity)}, ${pairs} ${ratio(all_pairs)}`;
  if (p === null) return `${numbers}; ${few}`;
  return `heads are ${p < significant ? "" : "no "}more alike than ${others}: ${numbers}, ${pEquation(p)}`;
}

type Untested = NonNullable<Association["untested"] | Change["untested"]>;
const UNTESTED: Record<Untested, string> = {
  "one cluster": "one cluster only: nothing to test",
  "one value": "one value only: nothing to test",
  "one label per head": "each head has one label by construction: nothing to test",
  "same in all examples": "labels are the same in all examples: nothing to test",
  "few groups": "too few texts to test",
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

/** A statement about all clusters together, and what null models say about it; empty if they say nothing. */
export interface Statement {
  label: string;
  text: string;
  nulls: string;
}

/** Statements about all clusters together, without associations. */
export function overallLines(all: Clusters): Statement[] {
  const { jobs, locality, thresholds, clusters } = all;
  const noise = clusters.find((row) => row.cluster < 0);
  const few = fewTextsOf(all);
  const oneJob = jobs ? jobsLine(jobs.heads, jobs.one_job, thresholds.one_job) : "";
  const lines = [
    ...(jobs ? [{ label: "jobs", text: few ? `${oneJob}; ${few}` : oneJob }] : []),
    ...locality.map((row) => ({ label: row.neighbors, text: localityLine(row, thresholds.significant, few) })),
    ...(jobs && noise ? [{ label: "noise", text: noiseLine(noise.maps, noise.share) }] : []),
  ];
  return lines.map((line) => ({ ...line, nulls: nullStatement(line.label, all.null) }));
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
