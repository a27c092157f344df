// In which statistics a head differs most from all other heads.
import type { HeadRow } from "./api";
import { amount } from "./wording";

const BEYOND = 99; // deviations, where all other heads are equal

export interface Unusual {
  statistic: number;
  value: number;
  deviation: number | null;
  others: number; // mean of all other heads
  away: number; // from it, in standard deviations of the other heads
}

/** Statistics of a head, the most unusual first; those in which all heads are equal are `away` by 0. */
export function unusual(rows: HeadRow[], target: HeadRow): Unusual[] {
  const ranked: Unusual[] = [];
  target.mean.forEach((value, statistic) => {
    if (value === null) return;
    let [count, sum, squares] = [0, 0, 0];
    for (const row of rows) {
      const other = row.mean[statistic];
      if (row === target || other === null) continue;
      count++;
      sum += other - value; // relative to `value`, to avoid cancellation in the squares
      squares += (other - value) ** 2;
    }
    const gap = count ? -sum / count : 0;
    const spread = count ? Math.sqrt(Math.max(0, squares / count - gap ** 2)) : 0;
    const away = Math.abs(gap) < 1e-9 ? 0 : spread > 1e-9 ? gap / spread : Math.sign(gap) * BEYOND;
    ranked.push({ statistic, value, deviation: target.deviation[statistic], others: value - gap, away });
  });
  return ranked.sort((a, b) => Math.abs(b.away) - Math.abs(a.away) || a.statistic - b.statistic);
}

/** The statistics in which a head differs from the others at all, the most unusual first. */
export const mostUnusual = (rows: HeadRow[], target: HeadRow, most: number) =>
  unusual(rows, target)
    .filter(({ away }) => away !== 0)
    .slice(0, most);

/** The distance from the other heads, for tables and tooltips. */
export const awayText = (away: number) =>
  Math.abs(away) >= BEYOND ? "beyond all" : `${away > 0 ? "+" : "−"}${amount(Math.abs(away))} SD`;
