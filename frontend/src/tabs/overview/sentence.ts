// What a head does, in a sentence, from what is known of it.
import type { AtlasCard } from "../../lib/api";
import { amount, headName, joinList, plural, percent, THIN } from "../../lib/format";
import type { Head, Telling } from "./heads";

/** A number with its sign. */
export const signed = (value: number) => (value > 0 ? `+${amount(value)}` : amount(value));

/** A measure between 0 and 1; never 1 unless it is. */
export const ratio = (value: number | null) =>
  value === null ? "–" : value >= 0.995 && value < 1 ? `>${THIN}0.99` : value.toFixed(2).replace("-", "−");

const SECOND = 0.1; // a cluster of a smaller share is not worth a word

const LONGEST = 60; // characters of a name

export function headSentence(
  head: Head,
  statistics: Telling[],
  atlas: AtlasCard,
  name: (cluster: number) => string,
  n: number,
): string {
  const called = (cluster: number) =>
    name(cluster).length > LONGEST ? `${name(cluster).slice(0, LONGEST)}…` : name(cluster);
  const on = `on ${plural(n, atlas.data.modality)}`;
  const parts = head.mix?.parts ?? [];
  if (head.mix?.oneJob)
    return `${headName(head)} has one job: ${percent(parts[0].share)} of its maps ${on} are “${called(parts[0].cluster)}”.`;
  if (parts.length) {
    const named = parts.filter((part) => part.share >= SECOND).slice(0, 3);
    if (!named.length)
      return `${headName(head)} has many jobs: ${on} its maps lie in ${parts.length} clusters, none with ${percent(SECOND)} of them.`;
    return `${headName(head)} has several jobs: ${on} its maps are ${joinList(named.map((part) => `“${called(part.cluster)}” (${percent(part.share)})`))}.`;
  }
  const first = statistics[0];
  if (!first) return `${headName(head)} ${on}.`;
  return `${headName(head)} ${on}: ${atlas.statistics[first.statistic].plain} is ${amount(first.mean)}, ${signed(first.away)} standard deviations from the mean of all heads.`;
}

/** A text in which a number is not parted from its sign. */
export const together = (text: string) => text.replaceAll(" %", "\u00a0%").replace(/\bp (?=[\d<])/g, "p\u00a0");
