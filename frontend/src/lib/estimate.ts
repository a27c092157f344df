// Means with 95% intervals over independent texts, and differences of two means.
import { GROUPS } from "../generated/thresholds";

const Z = 1.959964; // quantile 0.975 of the normal distribution

/**
 * The quantile 0.975 of Student's t, by the expansion of Cornish and Fisher: exact to four digits from 10 degrees of
 * freedom on, and there are never fewer than `GROUPS` - 1 here.
 */
export function studentT(freedom: number): number {
  const terms = [
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
  ];
  return terms.reduce((sum, term, power) => sum + term / freedom ** (power + 1), Z);
}

/** A number with its 95% interval; null where there are too few texts for one, or all their values are equal. */
export interface Interval {
  value: number;
  low: number | null;
  high: number | null;
}

/** The mean of some texts, each source counted once. */
export interface Mean extends Interval {
  texts: number; // that have a value
  sources: Map<number, number>; // the mean of each source
  error: number; // standard error
}

const between = (value: number, error: number, freedom: number, enough: boolean): Interval => {
  const half = enough && error > 0 ? studentT(freedom) * error : null;
  return { value, low: half === null ? null : value - half, high: half === null ? null : value + half };
};

/**
 * The mean of the known values of some texts. Texts of one source (the same number in `group`) count once, with their
 * mean; without `group` each text is a source.
 */
export function meanOf(
  values: ArrayLike<number>,
  texts: ArrayLike<number>,
  group: ArrayLike<number> | null,
  least = GROUPS,
): Mean {
  const sums = new Map<number, { sum: number; count: number }>();
  let known = 0;
  for (let at = 0; at < texts.length; at++) {
    const value = values[texts[at]];
    if (Number.isNaN(value)) continue;
    known++;
    const source = group ? group[texts[at]] : texts[at];
    const entry = sums.get(source);
    if (entry) {
      entry.sum += value;
      entry.count++;
    } else sums.set(source, { sum: value, count: 1 });
  }
  const sources = new Map([...sums].map(([source, { sum, count }]) => [source, sum / count]));
  const n = sources.size;
  const mean = [...sources.values()].reduce((sum, value) => sum + value, 0) / n;
  const squares = [...sources.values()].reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const error = n > 1 ? Math.sqrt(squares / (n - 1) / n) : 0;
  return { texts: known, sources, error, ...between(mean, error, n - 1, n >= least) };
}

/**
 * The difference of two means. Sources that have texts in both parts are compared with themselves: with all sources in
 * both it is the interval of paired differences, with none in both that of Welch.
 */
export function differenceOf(first: Mean, second: Mean, least = GROUPS): Interval {
  const [n, m] = [first.sources.size, second.sources.size];
  const scale = (count: number) => 1 / Math.sqrt(count * (count - 1));
  let squares = 0;
  let shared = false;
  for (const [source, value] of first.sources) {
    const other = second.sources.get(source);
    shared ||= other !== undefined;
    squares += ((value - first.value) * scale(n) - (other === undefined ? 0 : (other - second.value) * scale(m))) ** 2;
  }
  for (const [source, value] of second.sources)
    if (!first.sources.has(source)) squares += ((value - second.value) * scale(m)) ** 2;
  const welch =
    (first.error ** 2 + second.error ** 2) ** 2 / (first.error ** 4 / (n - 1) + second.error ** 4 / (m - 1));
  const freedom = shared || !Number.isFinite(welch) ? Math.min(n, m) - 1 : welch;
  return between(first.value - second.value, Math.sqrt(squares), freedom, Math.min(n, m) >= least);
}
