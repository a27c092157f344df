// A statistic inside and outside a set of maps.
import type { ColumnCard } from "../../lib/api";
import { decodeAmount, UNKNOWN } from "../../lib/encoding";

export interface Sums {
  n: number;
  sum: number;
  squares: number;
}

export interface Contrast {
  inside: number | null; // means
  outside: number | null;
  nInside: number;
  nOutside: number;
  difference: number | null; // in standard deviations within the two groups
}

/** Sums of the known values of all or of the selected maps. */
export function sums(values: Uint16Array, selected: Uint32Array | null): Sums {
  let n = 0;
  let sum = 0;
  let squares = 0; // of values up to TOP: exact up to two million maps, and good enough beyond
  const total = selected?.length ?? values.length;
  for (let k = 0; k < total; k++) {
    const value = values[selected ? selected[k] : k];
    if (value === UNKNOWN) continue;
    n++;
    sum += value;
    squares += value * value;
  }
  return { n, sum, squares };
}

const cachedTotals = new WeakMap<Uint16Array, Sums>();

function totals(values: Uint16Array): Sums {
  if (!cachedTotals.has(values)) cachedTotals.set(values, sums(values, null));
  return cachedTotals.get(values)!;
}

const spread = ({ n, sum, squares }: Sums) => (n ? Math.max(0, squares - (sum * sum) / n) : 0);

export function contrast(values: Uint16Array, selected: Uint32Array, card: Pick<ColumnCard, "low" | "high">): Contrast {
  const all = totals(values);
  const inner = sums(values, selected);
  const outer = { n: all.n - inner.n, sum: all.sum - inner.sum, squares: all.squares - inner.squares };
  const mean = ({ n, sum }: Sums) => (n ? decodeAmount(sum / n, card) : null);
  const freedom = inner.n + outer.n - 2;
  const deviation = freedom > 0 ? Math.sqrt((spread(inner) + spread(outer)) / freedom) : 0;
  const gap = inner.n && outer.n ? inner.sum / inner.n - outer.sum / outer.n : null;
  return {
    inside: mean(inner),
    outside: mean(outer),
    nInside: inner.n,
    nOutside: outer.n,
    difference: gap === null || deviation === 0 ? null : gap / deviation,
  };
}
