// Parts of the texts in words: the mean of a statistic in each, and their difference.
import { GROUPS } from "../../generated/thresholds";
import type { Interval, Mean } from "../estimate";
import { count, estimate, NBSP, plural } from "./numbers";

/** A mean with its interval. */
export const meanText = ({ value, low, high }: Interval) => estimate(value, low, high);

/** How many texts a mean is over, and of how many sources, if some have one source. */
export function sizeText({ texts, sources }: Mean): string {
  const n = `n${NBSP}=${NBSP}${count(texts)}`;
  return sources.size === texts ? n : `${n} of ${plural(sources.size, "source")}`;
}

/** That there are too few independent texts for an interval. */
export const fewForInterval = ({ sources }: Mean) =>
  sources.size < GROUPS ? `too few texts for an interval (${count(sources.size)}, ${count(GROUPS)} are needed)` : "";

/** Two parts compared: by how much the mean of the first is higher or lower, and whether that may be chance. */
export function differenceSentence(
  what: string, // text or image
  first: { phrase: string; mean: Mean },
  second: { phrase: string; mean: Mean },
  { value, low, high }: Interval,
): string {
  const than = `on ${what}s ${first.phrase} than ${second.phrase}`;
  const few = fewForInterval(first.mean) || fewForInterval(second.mean);
  const way = value < 0 ? "lower" : "higher";
  if (low === null || high === null)
    return `${estimate(Math.abs(value), null, null)} ${way} ${than}${few && `: ${few}`}.`;
  if (low <= 0 && high >= 0)
    return `No clear difference between ${what}s ${first.phrase} and ${second.phrase}: ${estimate(value, low, high, true)} includes 0.`;
  const ends = [Math.abs(low), Math.abs(high)].sort((a, b) => a - b);
  return `${estimate(Math.abs(value), ends[0], ends[1])} ${way} ${than}.`;
}
