// Comparisons of models, in words; sentences about what was found come from headatlas.wording.compare.
import type { HeadShift } from "../api";
import { headPlace } from "./clusters";
import { amount, interval, signed } from "./numbers";

type Value = number | null;

/** How far the maps of a head moved, beside what seeds alone give. */
export function movedLine({ shift, shift_low, shift_high, noise }: HeadShift): string {
  if (shift === null) return "its maps cannot be compared";
  const seeds = noise === null ? "" : `, between seeds ${amount(noise)}`;
  return `shift ${interval(shift, shift_low, shift_high, amount)}${seeds}`;
}

/** Whether a head changed more than seeds do. */
export function changedWords({ changed, shift }: Pick<HeadShift, "changed" | "shift">, seeds: number): string {
  if (changed !== null) return changed ? "changed more than between seeds" : "not more than between seeds";
  if (shift === null) return "";
  return seeds ? "not tested: too few texts" : "not tested: no other seeds to compare with";
}

/** A difference with its interval. */
export const differenceText = (value: Value, low: Value, high: Value) =>
  low === null || high === null ? signed(value) : `${signed(value)} [${signed(low)}, ${signed(high)}]`;

/** A value before and after. */
export const beforeAfter = (before: Value, after: Value, form: (value: Value) => string = amount) =>
  `${form(before)} → ${form(after)}`;

/** A change of a share, in percentage points. */
export const points = (value: Value) => signed(value === null ? null : 100 * value);

type Matched = Pick<HeadShift, "other_layer" | "other_head">;

/** The counterpart of a head in the other model. */
export const counterpart = ({ other_layer: layer, other_head: head }: Matched) =>
  layer === null || head === null ? "no counterpart" : headPlace({ layer, head });

/** Which head of the other model a head is matched with. */
export const matchedWords = (row: Matched, other: string) =>
  row.other_layer === null ? `no counterpart in ${other}` : `matched with ${counterpart(row)} of ${other}`;
