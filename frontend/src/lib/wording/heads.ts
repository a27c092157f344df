// What a head does, as a sentence.
import { ALIKE, PART } from "../../generated/thresholds";
import type { HeadRef } from "../selection.svelte";
import { phrased } from "../statistics";
import { headName } from "./clusters";
import { amount, finePercent, joinList, percent, plural, signed } from "./numbers";

/** The pattern of a head's main cluster. */
export interface Pattern {
  cluster: number;
  name: string;
  phrases: string[] | null;
}

/** Phrases as a verb, with the statistics that measure them; null if there are no phrases or one is unknown. */
export function attends(phrases: string[]): { verb: string; statistics: string[][]; targets: number } | null {
  const known = phrases.map(phrased);
  if (!known.length || !known.every((phrase) => phrase !== undefined)) return null;
  const manners = known.map(({ naming }) => naming.manner).filter(Boolean);
  const targets = known.map(({ naming }) => naming.target).filter(Boolean);
  const verb = ["attends", joinList(manners), joinList(targets.map((target) => `to ${target}`))]
    .filter(Boolean)
    .join(" ");
  const measures = known.flatMap(({ statistics }) => statistics.map((entry) => entry.parts));
  return { verb, statistics: measures, targets: targets.length };
}

/** A statistic of a head: a single one with its deviation, or a sum of several. */
export interface Measure {
  label: string;
  value: number;
  deviation: number | null;
  parts: number; // how many statistics were added
  target: boolean; // the sentence already says where this attention goes
}

const plusMinus = (value: number, deviation: number | null) =>
  amount(value) + (deviation === null ? "" : ` ± ${amount(deviation)}`);

function measureText({ label, value, deviation, parts, target }: Measure): string {
  if (parts > 1 && !target) return ` (${amount(value)} of attention to the former)`;
  return ` (${target ? "mass" : label} ${plusMinus(value, parts > 1 ? null : deviation)})`;
}

export interface HeadFacts {
  head: HeadRef;
  examples: number;
  modality: string;
  pattern: Pattern;
  share: number; // of its maps in the main cluster
  measure: Measure | null;
  second: { name: string; share: number } | null; // another cluster, if the head has several jobs
  related: (HeadRef & { closer_than: number }) | null; // the head most like it
}

export function headSentence({
  head,
  examples,
  modality,
  pattern,
  share,
  measure,
  second,
  related,
}: HeadFacts): string {
  const verb = attends(pattern.phrases ?? [])?.verb ?? `shows “${pattern.name}”`;
  const does = pattern.cluster < 0 ? "belongs to no cluster" : verb;
  const also = second?.share ? `, “${second.name}” in ${percent(second.share)}` : "";
  const on = plural(examples, modality);
  return `${headName(head)} ${does}${measure ? measureText(measure) : ""} in ${percent(share)} of ${on}${also}${relatedText(related)}.`;
}

/** How near two heads are, against all pairs of heads. */
export const closerText = ({ closer_than }: { closer_than: number }) =>
  `among the closest ${finePercent(1 - closer_than)} of all pairs of heads`;

function relatedText(related: HeadFacts["related"]): string {
  if (!related) return "";
  return related.closer_than >= ALIKE
    ? `; most like ${headName(related)} (${closerText(related)})`
    : "; no other head is much like it";
}

/** A head without clusters: the statistic in which it differs most from the others. */
export function statisticSentence(
  head: HeadRef,
  examples: number,
  modality: string,
  first: { label: string; value: number; deviation: number | null; others: number } | null,
): string {
  const on = `on ${plural(examples, modality)}`;
  if (!first) return `${headName(head)} ${on}.`;
  return `${headName(head)}: ${first.label} ${plusMinus(first.value, first.deviation)} ${on}, other heads ${amount(first.others)} on average.`;
}

/** The heads with the largest and the smallest value of something, and the mean of all. */
export interface Extremes {
  label: string;
  highest: { head: HeadRef; value: number };
  lowest: { head: HeadRef; value: number };
  mean: number;
}

/** What heads are sorted or colored by, and which head is at each end; the smallest first if `up`. */
export function extremesSentence(how: "Sorted" | "Colored", extremes: Extremes, up: boolean): string {
  const { label, highest, lowest, mean } = extremes;
  const text = ({ head, value }: Extremes["highest"], word: string) => `${headName(head)} ${word} (${amount(value)})`;
  if (highest.value === lowest.value) return `${how} by ${label}: all heads have ${amount(mean)}.`;
  const [first, second] = up
    ? [text(lowest, "is lowest"), text(highest, "highest")]
    : [text(highest, "is highest"), text(lowest, "lowest")];
  return `${how} by ${label}: ${first}, ${second}; the mean of all heads is ${amount(mean)}.`;
}

const LONGEST = 60; // characters of a name
const quoted = (name: string) => `“${name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name}”`;

/** The jobs of a head: `parts` are its clusters, the largest first. */
export function jobsSentence(
  head: HeadRef,
  on: string,
  oneJob: boolean,
  parts: { name: string; share: number }[],
  few = "", // that there are too few texts to test
): string {
  if (oneJob)
    return `${headName(head)} has one job: ${percent(parts[0].share)} of its maps ${on} are ${quoted(parts[0].name)}${few && `; ${few}`}.`;
  const named = parts.filter((part) => part.share >= PART).slice(0, 3);
  if (!named.length)
    return `${headName(head)} has many jobs: ${on} its maps lie in ${plural(parts.length, "cluster")}, none with ${percent(PART)} of them.`;
  return `${headName(head)} has several jobs: ${on} its maps are ${joinList(named.map((part) => `${quoted(part.name)} (${percent(part.share)})`))}.`;
}

/** A head whose maps are not clustered: its most unusual statistic, in standard deviations of the other heads. */
export const unusualSentence = (
  head: HeadRef,
  on: string,
  first: { label: string; value: number; away: number } | null,
) =>
  first
    ? `${headName(head)} ${on}: ${first.label} is ${amount(first.value)}, ${signed(first.away)} standard deviations from the mean of the other heads.`
    : `${headName(head)} ${on}.`;
