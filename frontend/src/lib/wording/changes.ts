// What the input changes in a head, in words. Tested on the same cases as headatlas.wording.changes.
import type { Change } from "../api";
import { amount, columnName, interval, pEquation, percent } from "./numbers";

/** What is to be said of an encoder that knows heads. */
export const BUILT_IN = "partly built in: the vectors come from a network that was trained to tell heads apart";

/** The means of a statistic for the values of a column where it is highest and lowest. */
export const changedLine = (
  statistic: string,
  column: string,
  high: number | null,
  highValue: string,
  low: number | null,
  lowValue: string,
) => `${statistic} is ${amount(high)} if ${column} = ${highValue}, ${amount(low)} if ${column} = ${lowValue}`;

/** The first statistic of a change whose means differ by at least `differs`; undefined if there is none. */
export function changedIn(change: Change, differs: number): string | undefined {
  for (const { plain, means } of change.statistics) {
    const known = means.filter((entry): entry is { value: string; mean: number } => entry.mean !== null);
    const high = known.reduce((best, entry) => (entry.mean > best.mean ? entry : best), known[0]);
    const low = known.reduce((best, entry) => (entry.mean < best.mean ? entry : best), known[0]);
    if (known.length && high.mean - low.mean >= differs)
      return changedLine(plain, columnName(change.column), high.mean, high.value, low.mean, low.value);
  }
  return undefined;
}

/** How much of the variation of maps a head, a layer, an example or a column explains, chance taken off. */
export function explainedLine(
  explained: number | null,
  low: number | null,
  high: number | null,
  p: number | null,
  withinHeads: boolean,
  significant: number,
  matters: number,
): string {
  const whole = withinHeads ? "the variation within heads" : "the variation of all maps";
  if (p === null) return `explains ${interval(explained, low, high, percent)} of ${whole}`; // not tested
  if (!(p < significant)) return `explains no more of ${whole} than chance (${pEquation(p)})`;
  if (explained === null || explained < matters)
    return `explains less than ${percent(matters)} of ${whole}: too little to matter`;
  return `explains ${interval(explained, low, high, percent)} of ${whole}, ${pEquation(p)}`;
}
