// Null models in words, as in headatlas.wording.nulls: what is there without what was learned, or without word order.
import type { NullModels, NullShare } from "../api";
import { count, interval, percent, ratio } from "./numbers";

export type NullKind = NullShare["kind"];
type Similarity = [neighbors: number | null, pairs: number | null];

/** What each null model is, after “the model”. */
export const NULLS: Record<NullKind, string> = {
  untrained: "with random weights",
  permuted: "with its weights shuffled",
  shuffled: "with shuffled words",
};

const each = <T>(values: Partial<Record<NullKind, T>>, write: (value: T) => string) =>
  (Object.entries(values) as [NullKind, T][]).map(([kind, value]) => `${write(value)} ${NULLS[kind]}`).join(", ");

/** The share of a pattern under each null model. */
export const nullShares = (shares: Partial<Record<NullKind, number | null>>) => each(shares, percent);

/** How many heads have one job under each null model. */
export const nullJobs = (heads: number, oneJob: Partial<Record<NullKind, number>>) =>
  each(oneJob, (number) => `${count(number)} of ${count(heads)}`);

/** How similar neighbors are under each null model, and all pairs of heads. */
export const nullLocality = (similarities: Partial<Record<NullKind, Similarity>>) =>
  each(similarities, ([neighbors, pairs]) => `${ratio(neighbors)} (${ratio(pairs)})`);

/** How much of a pattern is still there under each null model: the same head on the same example. */
export function nullStays(nulls: NullShare[]): string {
  const known = nulls.filter((row) => row.kept !== null);
  return known.map(({ kind, kept }, at) => `${percent(kept)} ${at ? "" : "of it stays "}${NULLS[kind]}`).join(", ");
}

/** Details of a pattern under a null model, for a tooltip. */
export const nullLines = ({ share, low, high, share_real, kept }: NullShare) => [
  `${interval(share, low, high, percent)} of its maps, ${percent(share_real)} of those of the model itself`,
  ...(kept === null ? [] : [`${percent(kept)} of the model’s maps in this pattern stay in it`]),
];

/** What null models say about a statement on all clusters together; empty if they say nothing. */
export function nullStatement(label: string, models: NullModels | null): string {
  if (!models) return "";
  if (label === "jobs")
    return nullJobs(models.jobs[0]?.heads ?? 0, Object.fromEntries(models.jobs.map((row) => [row.kind, row.one_job])));
  const rows = models.locality.filter((row) => row.neighbors === label);
  if (!rows.length) return "";
  const similarities = rows.map((row) => [row.kind, [row.similarity, row.all_pairs] as Similarity]);
  const pairs = label === "same layer" ? "all pairs" : "any two layers";
  return `similarity (${pairs}) ${nullLocality(Object.fromEntries(similarities))}`;
}

/** What null models are and how to read them, for help texts. */
export const nullHelp = (examples: number, what: string) =>
  `What is left of a pattern if the model is replaced, on the same ${count(examples)} ${what}s. With random weights: the same architecture before training. With its weights shuffled: the entries of each weight matrix in random order, as large as those of the trained model. With shuffled words: the model itself, on the tokens of each text in random order. A map counts only if it is as near to the center of the pattern as 95% of the pattern’s own maps. A pattern that is as frequent with random or shuffled weights is no evidence of learning; one that stays with shuffled words follows positions or single words.`;
