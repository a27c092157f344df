// A statistic inside a set of maps and outside of it.
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

/** Sums of the known values, of all or of some. */
export function sums(values: Uint16Array, some: Uint32Array | null): Sums {
  let n = 0;
  let sum = 0;
  let squares = 0; // of values up to TOP: exact up to two million maps, and good enough beyond
  const total = some?.length ?? values.length;
  for (let k = 0; k < total; k++) {
    const value = values[some ? some[k] : k];
    if (value === UNKNOWN) continue;
    n++;
    sum += value;
    squares += value * value;
  }
  return { n, sum, squares };
}

const wholes = new WeakMap<Uint16Array, Sums>();

function whole(values: Uint16Array): Sums {
  if (!wholes.has(values)) wholes.set(values, sums(values, null));
  return wholes.get(values)!;
}

const spread = ({ n, sum, squares }: Sums) => (n ? Math.max(0, squares - (sum * sum) / n) : 0);

export function contrast(values: Uint16Array, some: Uint32Array, card: Pick<ColumnCard, "low" | "high">): Contrast {
  const all = whole(values);
  const inner = sums(values, some);
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
