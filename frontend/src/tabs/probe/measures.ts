// Numbers of all heads: their range, the mean of each layer, and the rows of a table.
import type { MeasureCard } from "../../lib/api";

export interface LayerMean {
  layer: number;
  mean: number;
  low: number;
  high: number; // of single heads
}

export const known = (measure: MeasureCard) => measure.mean.flat().filter((value): value is number => value !== null);

/** The ends of the color scale; shares start at 0. */
export function rangeOf(measure: MeasureCard): [number, number] {
  const values = known(measure);
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [measure.share && low > 0 ? 0 : low, high > low ? high : low + 1];
}

/** The mean of the heads of each layer, with the lowest and the highest of them. */
export function layerMeans(measure: MeasureCard): LayerMean[] {
  return measure.mean.flatMap((row, layer) => {
    const values = row.filter((value): value is number => value !== null);
    if (!values.length) return [];
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return [{ layer, mean, low: Math.min(...values), high: Math.max(...values) }];
  });
}

export interface HeadMean {
  layer: number;
  head: number;
  mean: number;
  low: number | null;
  high: number | null;
}

/** The means of all heads for which a measure is defined, by layer. */
const headMeans = (measure: MeasureCard): HeadMean[] =>
  measure.mean.flatMap((row, layer) =>
    row.flatMap((mean, head) =>
      mean === null ? [] : [{ layer, head, mean, low: measure.low[layer][head], high: measure.high[layer][head] }],
    ),
  );

/** The same, the highest first. */
export const rankedMeans = (measure: MeasureCard) => headMeans(measure).sort((a, b) => b.mean - a.mean);

/** The ends of an axis that holds all means and their intervals; that of shares starts at 0. */
export function axisOf(measure: MeasureCard): [number, number] {
  const [from, to] = rangeOf(measure);
  const limits = [...measure.low.flat(), ...measure.high.flat()].filter((value): value is number => value !== null);
  return [Math.min(from, ...limits), Math.max(to, ...limits)];
}

export const rowsOf = (measure: MeasureCard) =>
  headMeans(measure).map(({ layer, head, mean, low, high }) => [layer, head, mean, low, high]);
