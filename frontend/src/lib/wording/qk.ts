// Queries and keys in words: what their plots show, and how far they can be trusted.
import { GROUPED } from "../../generated/thresholds";
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { methodName } from "./maps";
import { percent, plural, ratio } from "./numbers";

/** A plot by its method and dimensions: `t-SNE`, `PCA, 3-D`. */
export function embeddingName(name: string): string {
  const [, method, dims] = /^(.+?)(?:-(\d)d)?$/.exec(name)!;
  return dims ? `${methodName(method)}, ${dims}-D` : methodName(method);
}

const misplacedText = (share: number | null) =>
  share === null ? "" : `; ${share === 0 ? "no point is" : `${percent(share)} of points are`} misplaced`;

/** All heads: how far distance mirrors the product of query and key, and how many points are misplaced. */
export function embeddingSentence(facts: {
  heads: number;
  tokens: number;
  examples: number;
  modality: string;
  spearman: number | null;
  misplaced: number | null;
}): string {
  const { heads, tokens, examples, modality, spearman, misplaced } = facts;
  const noun = modality === "text" ? "token" : "patch";
  const drawn = noun === "token" ? plural(tokens, noun) : `${plural(tokens, noun).replace(/patchs$/, "patches")}`;
  const start = `${plural(heads, "head")} on ${drawn} of ${plural(examples, modality)}`;
  const mirror = spearman === null ? "" : `: mean correlation of distance and product ${ratio(spearman)}`;
  return `${start}${mirror}${misplacedText(misplaced)}.`;
}

/** What a head groups its queries and keys by, how far distance mirrors their product, and how many are misplaced. */
export function groupingSentence(facts: {
  head: HeadRef;
  grouping: { column: string; label: string; strength: number } | null; // the strongest; null: not known yet
  spearman: number | null;
  misplaced: number | null;
}): string {
  const { head, grouping, spearman, misplaced } = facts;
  const mirror = spearman === null ? "" : ` (correlation of distance and product ${ratio(spearman)})`;
  return `${headName(head)} ${groupingText(grouping)}${mirror}${misplacedText(misplaced)}.`;
}

function groupingText(grouping: { column: string; label: string; strength: number } | null): string {
  if (!grouping || grouping.strength < GROUPED) return "groups queries and keys by none of the columns";
  if (grouping.column === "role") return "keeps queries and keys apart";
  return `groups queries and keys by ${grouping.label}`;
}

/** Occurrences of a searched token: `“the” occurs 213 times in 98 of 140 texts, lit up in all heads.` */
export function foundSentence(facts: {
  query: string;
  part: boolean;
  occurrences: number;
  found: number; // examples in which it occurs
  examples: number;
  modality: string;
}): string {
  const { query, part, occurrences, found, examples, modality } = facts;
  const subject = `“${query.slice(0, 40)}”${part ? " as part of a token" : ""}`;
  if (!occurrences) return `${subject} does not occur among the tokens that are drawn.`;
  return `${subject} occurs ${plural(occurrences, "time")} in ${found} of ${plural(examples, modality)}, lit up in all heads.`;
}

/** One point: `The query of “cat” attends most to “sat” (0.42) in L3·H4.` */
export function pointSentence(facts: {
  head: HeadRef;
  role: "query" | "key";
  text: string;
  other: string | null; // the token at the other end; null: not known, or there is none
  weight: number | null;
  modality: string;
}): string {
  const { head, role, text, other, weight, modality } = facts;
  const named = (name: string) => (modality === "image" ? `patch ${name}`.replace(/^patch (?=\[)/, "") : `“${name}”`);
  const subject = `The ${role} of ${named(text)} in ${headName(head)}`;
  if (other === null) return `${subject}.`;
  const rest = `${named(other)} (${ratio(weight)})`;
  return role === "query" ? `${subject} attends most to ${rest}.` : `${subject} gets most attention from ${rest}.`;
}

/** Some points of a head: `312 points of L3·H4 selected: 210 queries and 102 keys.` */
export function pointsSentence({ head, points, keys }: { head: HeadRef; points: number; keys: number }): string {
  const parts = `${plural(points - keys, "querie").replace(/querie$/, "query")} and ${plural(keys, "key")}`;
  return `${plural(points, "point")} of ${headName(head)} selected: ${parts}.`;
}
