// Curves of a statistic over the models of a series.
import type { HeadSeries } from "../../lib/api";
import { roundStep } from "../../lib/columns";

/** Round numbers that include all values and intervals, and where a value is drawn between 0 and `height`. */
export function scaleY({ values, low, high }: Pick<HeadSeries, "values" | "low" | "high">, height: number) {
  const known = [...values, ...low, ...high].filter((value): value is number => value !== null);
  const [least, most] = [Math.min(0, ...known), Math.max(0, ...known)];
  const step = roundStep((most - least || 1) / 3, false);
  const [first, last] = [Math.floor(least / step), Math.ceil(most / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
  const [bottom, top] = [ticks[0], ticks[ticks.length - 1]];
  return { ticks, y: (value: number) => height * (1 - (value - bottom) / (top - bottom || 1)) };
}

/** A line through all known values. */
export function pathOf(values: (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let path = "";
  values.forEach((value, at) => {
    if (value !== null) path += `${path ? "L" : "M"}${x(at)} ${y(value)}`;
  });
  return path;
}

/** The heads that take up a job, the earliest first, and of one step the largest change first. */
export function byStep(series: HeadSeries[]): (HeadSeries & { taken_up: number })[] {
  const change = ({ values }: HeadSeries) => Math.abs((values.at(-1) ?? 0) - (values[0] ?? 0));
  return series
    .filter((row): row is HeadSeries & { taken_up: number } => row.taken_up !== null)
    .sort((a, b) => a.taken_up - b.taken_up || change(b) - change(a));
}
