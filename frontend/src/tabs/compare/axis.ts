// Axes from 0 to a round number.
import { roundStep } from "../../lib/columns";

/** The end of an axis that has room for all values, its ticks, and those of a short axis. */
export function axisTo(values: (number | null)[]): { top: number; ticks: number[]; ends: number[] } {
  const most = values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  const step = roundStep(most / 8, false);
  const top = most > 0 ? step * Math.ceil(most / step - 1e-9) : 1;
  return { top, ticks: [0, top / 2, top], ends: [0, top] };
}
