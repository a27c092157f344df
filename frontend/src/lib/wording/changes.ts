// What the input changes in a head, in words. Tested on the same cases as headatlas.wording.changes.
import type { Change, SpanChange } from "../api";
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

/** The values of a column where a mean is highest and lowest; undefined if none is known. */
function ends(means: SpanChange["means"]) {
  const known = means.filter((entry): entry is { value: string; mean: number } => entry.mean !== null);
  if (!known.length) return undefined;
  return {
    high: known.reduce((best, entry) => (entry.mean > best.mean ? entry : best)),
    low: known.reduce((best, entry) => (entry.mean < best.mean ? entry : best)),
  };
}

/** The first statistic of a change whose means differ by at least `differs`; undefined if there is none. */
export function changedIn(change: Change, differs: number): string | undefined {
  for (const { plain, means } of change.statistics) {
    const found = ends(means);
    if (found && found.high.mean - found.low.mean >= differs)
      return changedLine(
        plain,
        columnName(change.column),
        found.high.mean,
        found.high.value,
        found.low.mean,
        found.low.value,
      );
  }
  return undefined;
}

/** How attention of a head between two spans changes with a column, and how much of its variation that is. */
export function spanChanged({ plain, column, means, explained, low, high, q }: SpanChange): string {
  const found = ends(means);
  const share = `explains ${interval(explained, low, high, percent)} of its variation, ${pEquation(q, "q")}`;
  if (!found) return `${plain}: ${columnName(column)} ${share}`;
  const { high: top, low: bottom } = found;
  return `${changedLine(plain, columnName(column), top.mean, top.value, bottom.mean, bottom.value)} (${share})`;
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
