// Which arcs are drawn: the strongest, so that a figure of many tokens stays readable.
export interface Arc {
  query: number;
  key: number;
  value: number;
  color?: string; // of its head, if there are several
  shift?: number; // pixels down, so that arcs of several heads between the same tokens are apart
}

export const MOST = 1500;
export const ARCS = 80; // most tokens for which arcs are readable

/** Arcs of at least `least`, the strongest `most` of them, the weakest first so that strong ones are drawn on top. */
export function strongest(values: Float32Array, columns: number, least: number, most = MOST): Arc[] {
  const arcs: Arc[] = [];
  for (let i = 0; i < values.length; i++)
    if (values[i] >= least && values[i] > 0)
      arcs.push({ query: Math.floor(i / columns), key: i % columns, value: values[i] });
  arcs.sort((a, b) => b.value - a.value);
  return arcs.slice(0, most).reverse();
}

/** The default threshold: keeps about two arcs per query; rounded to 0.01, the step of the slider. */
export function defaultThreshold(values: Float32Array, rows: number): number {
  const sorted = Float32Array.from(values).sort();
  const at = sorted[Math.max(0, sorted.length - 2 * rows)] ?? 0;
  return Math.min(0.5, Math.max(0.01, Math.round(100 * at) / 100));
}

/** Mean attention of each key over queries. */
export function received(values: Float32Array, rows: number, columns: number): Float32Array {
  const sum = new Float32Array(columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) sum[j] += values[i * columns + j];
  for (let j = 0; j < columns; j++) sum[j] /= rows || 1;
  return sum;
}

export const rowOf = (values: Float32Array, columns: number, row: number) =>
  values.subarray(row * columns, (row + 1) * columns);

export function columnOf(values: Float32Array, rows: number, columns: number, column: number): Float32Array {
  const out = new Float32Array(rows);
  for (let i = 0; i < rows; i++) out[i] = values[i * columns + column];
  return out;
}
