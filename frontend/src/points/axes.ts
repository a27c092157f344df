// Axes of scatter plots: linear, or quantile axes, on which equal distances hold equally many points. The ticks of both
// are labeled with the values of the points.

/** An increasing function from values to [0, 1]. */
export interface Axis {
  forward(value: number): number;
  inverse(position: number): number;
}

export const QUANTILES = 100; // number of knots of a quantile axis

/** Linear interpolation between increasing knots `xs` and `ys`, constant beyond the ends. */
function interpolate(xs: ArrayLike<number>, ys: ArrayLike<number>, x: number): number {
  let [low, high] = [0, xs.length - 1];
  if (!(x > xs[low])) return ys[low];
  if (x >= xs[high]) return ys[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / (xs[high] - xs[low]);
}

/** The quantile axis of some values. Tied values share one knot, at the mean of their quantiles. */
export function quantileAxis(values: ArrayLike<number>, k = QUANTILES): Axis {
  const sorted = Float64Array.from(Array.from(values).filter(Number.isFinite)).sort();
  return rankedAxis(sorted.length, (rank) => sorted[rank], k);
}

/** The quantile axis of integers from 0, given how often each of them occurs. */
export function countedAxis(counts: Uint32Array, k = QUANTILES): Axis {
  let [value, below] = [-1, 0]; // `below` values are at most `value`
  const valueAt = (rank: number) => {
    if (value >= 0 && rank < below - counts[value]) [value, below] = [-1, 0];
    while (rank >= below) below += counts[++value];
    return value;
  };
  const total = counts.reduce((sum, count) => sum + count, 0);
  return rankedAxis(total, valueAt, k);
}

function rankedAxis(total: number, valueAt: (rank: number) => number, k: number): Axis {
  if (!total) return { forward: () => 0, inverse: () => 0 };
  const steps = Math.min(k, Math.max(total, 2));
  const knots: number[] = [];
  const sums: [sum: number, count: number][] = []; // of the quantiles at each knot
  for (let i = 0; i < steps; i++) {
    const quantile = i / (steps - 1);
    const rank = quantile * (total - 1);
    const low = Math.floor(rank);
    const lowValue = valueAt(low);
    const value = lowValue + (valueAt(Math.min(low + 1, total - 1)) - lowValue) * (rank - low);
    if (knots.length && value === knots[knots.length - 1]) {
      sums[sums.length - 1][0] += quantile;
      sums[sums.length - 1][1]++;
    } else {
      knots.push(value);
      sums.push([quantile, 1]);
    }
  }
  const quantiles = sums.map(([sum, count]) => sum / count);
  if (knots.length > 1) {
    quantiles[0] = 0;
    quantiles[quantiles.length - 1] = 1;
  }
  return {
    forward: (value) => interpolate(knots, quantiles, value),
    inverse: (position) => interpolate(quantiles, knots, position),
  };
}

/** Numbers with as few digits as keep them distinct. */
export function tickLabels(values: number[]): string[] {
  let labels: string[] = [];
  const distinct = new Set(values).size;
  for (let digits = 2; digits <= 6; digits++) {
    labels = values.map((value) => String(Number(value.toPrecision(digits))).replace("-", "−"));
    if (new Set(labels).size === distinct) break;
  }
  return labels;
}

/** Ticks at about `count` round values between two values. */
export function roundTicks(low: number, high: number, count = 5): { value: number; label: string }[] {
  if (!(high > low)) return [];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const values: number[] = [];
  for (let i = Math.ceil(low / step); i <= Math.floor(high / step + 1e-9); i++)
    values.push(Number((i * step).toPrecision(12)));
  const labels = tickLabels(values);
  return values.map((value, i) => ({ value, label: labels[i] }));
}

/** Ticks at equal distances in the part from `low` to `high` of [0, 1]; the smaller the part, the finer the ticks. */
export function quantileTicks(axis: Axis, low: number, high: number, count = 4): { position: number; label: string }[] {
  const [from, to] = [Math.max(0, low), Math.min(1, high)];
  if (!(to > from)) return [];
  let step = 1 / count;
  while (step > (to - from) / 3 && step > 1e-4) step /= 2;
  const positions: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9; i++) {
    const position = Math.min(1, i * step);
    // positions that no value has are left out: if all values are equal, there is only one
    if (Math.abs(axis.forward(axis.inverse(position)) - position) < 1e-6) positions.push(position);
  }
  const labels = tickLabels(positions.map((position) => axis.inverse(position)));
  return positions.map((position, i) => ({ position, label: labels[i] }));
}
