// The heads of a text: the offsets of their points in the buffers, their order, and sentences about them.
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

/** The KL of the best restart, which is the one shown. */
export const best = ({ kl }: { kl: (number | null)[] }): number | null => {
  const known = kl.filter((value): value is number => value !== null);
  return known.length ? Math.min(...known) : null;
};

/** Indices into `heads`, sorted. */
export function ordered(heads: HeadLayout[], sort: Sort): number[] {
  const key: Record<Sort, (layout: HeadLayout) => number[]> = {
    layer: () => [],
    kl: (layout) => [best(layout) ?? Infinity],
    activity: (layout) => [-layout.activity],
    chain: (layout) => [-layout.chain, -layout.chain_mean],
  };
  const keys = heads.map(key[sort]);
  const before = (a: number[], b: number[]) =>
    a.reduce((order, value, i) => order || (value === b[i] ? 0 : value - b[i]), 0);
  return heads.map((_, i) => i).sort((a, b) => before(keys[a], keys[b]) || a - b);
}

/** The value that a head is sorted by, as text. */
export function valueText(layout: HeadLayout, sort: Sort): string {
  if (sort === "activity") return amount(layout.activity);
  return sort === "chain" ? plural(layout.chain, "step") : `KL ${amount(best(layout))}`;
}

/** The offset of each layout's points in a buffer, and the end of the last. */
export function pointOffsets(layers: number[], counts: (layer: number) => number): Uint32Array {
  const offsets = new Uint32Array(layers.length + 1);
  layers.forEach((layer, i) => (offsets[i + 1] = offsets[i] + counts(layer)));
  return offsets;
}

/** The focus as points of the layout: the query, then the key. */
export function pointsOfFocus(focus: Focus | null, queries: number, same: boolean): (number | null)[] {
  if (!focus) return [];
  return [focus.query, focus.key === null ? null : same ? focus.key : queries + focus.key];
}

/** The focus when a point of the layout is pointed at. */
export function focusOfPoint(point: number, queries: number, same: boolean): Focus | null {
  if (point < 0) return null;
  if (same) return { query: point, key: point };
  return point < queries ? { query: point, key: null } : { query: null, key: point - queries };
}

/** The head shown by default: the one with the longest chains. */
export const defaultHead = (tsne: Tsne): HeadRef | null => {
  const first = tsne.heads[ordered(tsne.heads, "chain")[0]];
  return first ? { layer: first.layer, head: first.head } : null;
};

/** The progress of the layouts, as text. */
export function progressText({ done, total }: Progress, heads: number): string {
  if (!total) return "The model is being loaded, or is busy with another text.";
  return done < heads
    ? `Heads laid out: ${done} of ${heads}`
    : `Heads laid out: ${heads} of ${heads}; layers of hidden states: ${done - heads} of ${total - heads}`;
}

const ORDINAL = new Intl.PluralRules("en", { type: "ordinal" });
const ENDING: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinal = (value: number) => `${value}${ENDING[ORDINAL.select(value)]}`;

/** One sentence about how the head reads the text. */
export function headSentence(tsne: Tsne, place: HeadRef, points: number, what: string): string {
  const at = tsne.heads.findIndex((layout) => layout.layer === place.layer && layout.head === place.head);
  const layout = tsne.heads[at];
  if (!layout) return "";
  const least = best(layout);
  if (least === null)
    return `${headName(place)} cannot be laid out on this ${what}: ${layout.notes[0] ?? "there is nothing to lay out"}.`;
  const known = layout.kl.filter((value): value is number => value !== null);
  const rank = ordered(tsne.heads, "activity").indexOf(at) + 1;
  const chain = layout.chain > 1 ? `in chains of up to ${plural(layout.chain, "step")}` : "without chains";
  const active = `${rank === 1 ? "" : `${ordinal(rank)} `}most active of ${plural(tsne.heads.length, "head")}`;
  return `${headName(place)}, ${active}, reads these ${plural(points, tsne.unit === "word" ? "word" : "token")} ${chain}: KL ${ratio(least)} to ${ratio(Math.max(...known))} in ${plural(tsne.restarts, "restart")}.`;
}

/** The default threshold for drawing a line: about one line per token, and never negligible attention. */
export function defaultThreshold(values: Float32Array, rows: number, same: boolean): number {
  const others = same ? values.filter((_, i) => Math.floor(i / rows) !== i % rows) : values;
  const sorted = Float32Array.from(others).sort();
  const at = sorted[Math.max(0, sorted.length - rows)] ?? 0;
  return Math.min(0.3, Math.max(0.02, Math.round(100 * at) / 100));
}

/** Priority of a word when labels are placed: content words first. */
export function importance(text: string, special: boolean): number {
  const letters = text.replace(/^##/, "").match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (special) return 2.5;
  if (!letters) return 0;
  return text.startsWith("##") ? 1 : letters >= 4 ? 3 : 2;
}
