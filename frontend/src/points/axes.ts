// Axes of points: linear, or quantile-equidistant, where equal steps hold equally many points. Ticks of both carry the
// points' own values.
export interface Tick {
  value: number;
  label: string;
}

/** A rising map from values to [0, 1]. */
export interface Axis {
  forward(value: number): number;
  inverse(place: number): number;
}

/** Piecewise linear from `from` to `to`, both rising; beyond the ends it stays at the ends. */
function between(from: ArrayLike<number>, to: ArrayLike<number>, value: number): number {
  let [low, high] = [0, from.length - 1];
  if (!(value > from[low])) return to[low];
  if (value >= from[high]) return to[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (from[middle] <= value) low = middle;
    else high = middle;
  }
  return to[low] + ((to[high] - to[low]) * (value - from[low])) / (from[high] - from[low]);
}

/** The axis from `k` quantiles of values; values that occur often make one knot, in the middle of their quantiles. */
export function quantileAxis(values: ArrayLike<number>, k = 100): Axis {
  const sorted = Float64Array.from(Array.from(values).filter(Number.isFinite)).sort();
  return rankedAxis(sorted.length, (rank) => sorted[rank], k);
}

/** The same of `total` values of which the one of each rank is known. */
function rankedAxis(total: number, valueAt: (rank: number) => number, k = 100): Axis {
  if (!total) return { forward: () => 0, inverse: () => 0 };
  const steps = Math.min(k, Math.max(total, 2));
  const knots: number[] = [];
  const sums: [number, number][] = []; // of the heights of each knot, and how many
  for (let i = 0; i < steps; i++) {
    const height = i / (steps - 1);
    const at = height * (total - 1);
    const low = Math.floor(at);
    const below = valueAt(low);
    const value = below + (valueAt(Math.min(low + 1, total - 1)) - below) * (at - low);
    if (knots.length && value === knots[knots.length - 1]) {
      sums[sums.length - 1][0] += height;
      sums[sums.length - 1][1]++;
    } else {
      knots.push(value);
      sums.push([height, 1]);
    }
  }
  const heights = sums.map(([sum, count]) => sum / count);
  if (knots.length > 1) {
    heights[0] = 0;
    heights[heights.length - 1] = 1;
  }
  return { forward: (value) => between(knots, heights, value), inverse: (place) => between(heights, knots, place) };
}

/** The axis of a coordinate that takes each value so many times. */
export function countedAxis(counts: Uint32Array, k = 100): Axis {
  let [value, passed] = [-1, 0]; // ranks below `passed` have this value or a smaller one
  const valueAt = (rank: number) => {
    if (value >= 0 && rank < passed - counts[value]) [value, passed] = [-1, 0];
    while (rank >= passed) passed += counts[++value];
    return value;
  };
  return rankedAxis(
    counts.reduce((sum, count) => sum + count, 0),
    valueAt,
    k,
  );
}

/** Numbers in as few digits as tell them apart. */
export function tickLabels(values: number[]): string[] {
  let found: string[] = [];
  const distinct = new Set(values).size;
  for (let digits = 2; digits <= 6; digits++) {
    found = values.map((value) => String(Number(value.toPrecision(digits))).replace("-", "−"));
    if (new Set(found).size === distinct) break;
  }
  return found;
}

/** Round values between two, about `count` of them. */
export function roundTicks(low: number, high: number, count = 5): Tick[] {
  if (!(high > low)) return [];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10);
  const values: number[] = [];
  for (let i = Math.ceil(low / step); i <= Math.floor(high / step + 1e-9); i++)
    values.push(Number((i * step).toPrecision(12)));
  const written = tickLabels(values);
  return values.map((value, i) => ({ value, label: written[i] }));
}

/** Places at equal steps within a part of [0, 1], finer the smaller the part; with the true values there. */
export function quantileTicks(axis: Axis, low: number, high: number, count = 4): { place: number; label: string }[] {
  const [from, to] = [Math.max(0, low), Math.min(1, high)];
  if (!(to > from)) return [];
  let step = 1 / count;
  while (step > (to - from) / 3 && step > 1e-4) step /= 2;
  const places: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9; i++) {
    const place = Math.min(1, i * step);
    // where all values are one, the axis is a single place
    if (Math.abs(axis.forward(axis.inverse(place)) - place) < 1e-6) places.push(place);
  }
  const written = tickLabels(places.map((place) => axis.inverse(place)));
  return places.map((place, i) => ({ place, label: written[i] }));
}
