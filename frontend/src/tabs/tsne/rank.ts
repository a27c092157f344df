// The heads of a text: where each one's points are in the buffers, in which order they are shown, and what is said.
import type { HeadLayout, Progress, Tsne } from "../../lib/api";
import type { HeadRef } from "../../lib/selection.svelte";
import { amount, headName, plural, ratio } from "../../lib/wording";
import type { Focus } from "../examples/tints";

export type Sort = "layer" | "kl" | "activity" | "chain";
export const SORTS: { value: Sort; label: string }[] = [
  { value: "layer", label: "by layer" },
  { value: "kl", label: "by KL" },
  { value: "activity", label: "by activity" },
  { value: "chain", label: "by chains" },
];

/** The KL of the layout that is shown. */
export const best = ({ kl }: { kl: (number | null)[] }): number | null => {
  const known = kl.filter((one): one is number => one !== null);
  return known.length ? Math.min(...known) : null;
};

/** Heads in an order, as numbers of `heads`. */
export function ordered(heads: HeadLayout[], sort: Sort): number[] {
  const key: Record<Sort, (one: HeadLayout) => number[]> = {
    layer: () => [],
    kl: (one) => [best(one) ?? Infinity],
    activity: (one) => [-one.activity],
    chain: (one) => [-one.chain, -one.chain_mean],
  };
  const keys = heads.map(key[sort]);
  const before = (a: number[], b: number[]) =>
    a.reduce((found, value, i) => found || (value === b[i] ? 0 : value - b[i]), 0);
  return heads.map((_, i) => i).sort((a, b) => before(keys[a], keys[b]) || a - b);
}

/** What a head is sorted by, in words. */
export function saysValue(one: HeadLayout, sort: Sort): string {
  if (sort === "activity") return amount(one.activity);
  return sort === "chain" ? plural(one.chain, "step") : `KL ${amount(best(one))}`;
}

/** Where the points of each layout begin in a buffer, and one more for the end. */
export function starts(layers: number[], counts: (layer: number) => number): Uint32Array {
  const found = new Uint32Array(layers.length + 1);
  layers.forEach((layer, i) => (found[i + 1] = found[i] + counts(layer)));
  return found;
}

/** What is pointed at, as points of the layout: the one that looks, and the one that is looked at. */
export function pointsOfFocus(focus: Focus | null, queries: number, same: boolean): (number | null)[] {
  if (!focus) return [];
  return [focus.query, focus.key === null ? null : same ? focus.key : queries + focus.key];
}

/** A point of the layout, as it is pointed at. */
export function focusOfPoint(point: number, queries: number, same: boolean): Focus | null {
  if (point < 0) return null;
  if (same) return { query: point, key: point };
  return point < queries ? { query: point, key: null } : { query: null, key: point - queries };
}

/** The head that shows most of a text at first: the longest chains. */
export const telling = (found: Tsne): HeadRef | null => {
  const first = found.heads[ordered(found.heads, "chain")[0]];
  return first ? { layer: first.layer, head: first.head } : null;
};

/** How far the layouts are, in words. */
export function saysProgress({ done, total }: Progress, heads: number): string {
  if (!total) return "The model is being loaded, or at work on another text.";
  return done < heads
    ? `Heads laid out: ${done} of ${heads}`
    : `Heads laid out: ${heads} of ${heads}; layers of hidden states: ${done - heads} of ${total - heads}`;
}

const ORDINAL = new Intl.PluralRules("en", { type: "ordinal" });
const ENDING: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinal = (value: number) => `${value}${ENDING[ORDINAL.select(value)]}`;

/** One sentence on what the head does with the text. */
export function says(found: Tsne, place: HeadRef, points: number, what: string): string {
  const at = found.heads.findIndex((one) => one.layer === place.layer && one.head === place.head);
  const one = found.heads[at];
  if (!one) return "";
  const least = best(one);
  if (least === null)
    return `${headName(place)} cannot be laid out on this ${what}: ${one.notes[0] ?? "there is nothing to lay out"}.`;
  const known = one.kl.filter((value): value is number => value !== null);
  const rank = ordered(found.heads, "activity").indexOf(at) + 1;
  const chain = one.chain > 1 ? `in chains of up to ${plural(one.chain, "step")}` : "without chains";
  const active = `${rank === 1 ? "" : `${ordinal(rank)} `}most active of ${plural(found.heads.length, "head")}`;
  return `${headName(place)}, ${active}, reads these ${plural(points, found.unit === "word" ? "word" : "token")} ${chain}: KL ${ratio(least)} to ${ratio(Math.max(...known))} in ${plural(found.restarts, "restart")}.`;
}

/** The least attention that is drawn as a line: about one line a token, and never of what is next to nothing. */
export function usualLine(values: Float32Array, rows: number, same: boolean): number {
  const others = same ? values.filter((_, i) => Math.floor(i / rows) !== i % rows) : values;
  const sorted = Float32Array.from(others).sort();
  const at = sorted[Math.max(0, sorted.length - rows)] ?? 0;
  return Math.min(0.3, Math.max(0.02, Math.round(100 * at) / 100));
}

/** Which words get room first: those that say much. */
export function importance(text: string, special: boolean): number {
  const letters = text.replace(/^##/, "").match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (special) return 2.5;
  if (!letters) return 0;
  return text.startsWith("##") ? 1 : letters >= 4 ? 3 : 2;
}
