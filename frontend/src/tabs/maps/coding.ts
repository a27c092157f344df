// Encodes a column as keys: each map or example gets one of a few values with a name and a count; amounts have a scale.
import type { ColumnCard, NodeRow } from "../../lib/api";
import { CODES, decodeAmount, MISSING, UNKNOWN } from "../../lib/encoding";
import { numberOf } from "../../lib/levels";
import { categoryColor, categoryMark, ramp, rgb } from "../../lib/palette";
import { quarters } from "../../lib/ranges";
import type { Theme } from "../../lib/theme.svelte";
import type { Shape } from "./places";

export interface Category {
  key: number;
  number: number; // in the URL and for colors; -1 is noise or unknown
  name: string;
  count: number; // of all maps
}

export interface Amounts {
  low: number;
  high: number;
  cutLow: boolean; // whether some maps lie beyond the end of the scale
  cutHigh: boolean;
  unknown: number; // maps without a value
}

export interface Coded {
  level: "map" | "example";
  keys: Uint16Array;
  size: number; // number of possible keys
  categories: Category[] | null; // null: an amount
  amounts: Amounts | null;
  ordered: boolean; // whether categories have an order, such as layers
}

const STEPS = 255; // keys of an amount; one more is for the unknown
const BEYOND = 0.005; // share of maps beyond each end of a scale, so that outliers do not flatten the rest
/** Start of the color scale of points, so that the palest stands out from the background. */
export const FAINTEST = 0.25;

/** How often each key occurs among the maps that exist, or among the selected ones. */
export function tally(
  coded: Pick<Coded, "keys" | "level" | "size">,
  shape: Shape,
  exists: Uint8Array,
  selected: Uint32Array | null = null,
): Uint32Array {
  const out = new Uint32Array(coded.size);
  const each = coded.level === "map" ? 1 : shape.layers * shape.heads;
  const { keys } = coded;
  if (selected) {
    if (each === 1) for (let k = 0; k < selected.length; k++) out[keys[selected[k]]]++;
    else for (let k = 0; k < selected.length; k++) out[keys[Math.floor(selected[k] / each)]]++;
    return out;
  }
  if (each === 1) {
    for (let i = 0; i < keys.length; i++) if (exists[i]) out[keys[i]]++;
    return out;
  }
  for (let at = 0, i = 0; at < keys.length; at++) {
    const key = keys[at];
    for (let k = 0; k < each; k++, i++) if (exists[i]) out[key]++;
  }
  return out;
}

/** Keys for each map. */
export function expanded(coded: Coded, shape: Shape): Uint16Array {
  if (coded.level === "map") return coded.keys;
  const each = shape.layers * shape.heads;
  const out = new Uint16Array(coded.keys.length * each);
  coded.keys.forEach((key, at) => out.fill(key, at * each, (at + 1) * each));
  return out;
}

/** Labels and codes: the value is the key; noise, unknown and missing values share the last key. */
export function categorical(
  values: Uint16Array,
  level: Coded["level"],
  name: (number: number) => string,
  shape: Shape,
  exists: Uint8Array,
): Coded {
  let top = -1;
  for (let i = 0; i < values.length; i++) if (values[i] < MISSING && values[i] > top) top = values[i];
  const keys = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) keys[i] = values[i] < MISSING ? values[i] : top + 1;
  const coded = { level, keys, size: top + 2 };
  const counts = tally(coded, shape, exists);
  const categories: Category[] = [];
  counts.forEach((count, key) => {
    const number = key > top ? -1 : key;
    if (count) categories.push({ key, number, name: name(number), count });
  });
  categories.sort((a, b) => Number(a.number < 0) - Number(b.number < 0) || b.count - a.count);
  return { ...coded, categories, amounts: null, ordered: false };
}

/**
 * The patterns at a level of a tree: the nodes of a cut, the largest first, looked up by the leaf of each map. `counts`
 * has the maps of each leaf, so that a change of the level takes one pass.
 */
export function leveled(leaves: Uint16Array, counts: Uint32Array, cut: NodeRow[]): Coded {
  const none = cut.length; // the key of maps that do not exist
  const keyOf = new Uint16Array(CODES).fill(none);
  cut.forEach((node, key) => keyOf.fill(key, node.first_leaf, node.last_leaf + 1));
  const keys = new Uint16Array(leaves.length);
  for (let i = 0; i < leaves.length; i++) keys[i] = keyOf[leaves[i]];
  const categories = cut.map((node, key) => {
    const count = counts.subarray(node.first_leaf, node.last_leaf + 1).reduce((sum, maps) => sum + maps, 0);
    return { key, number: numberOf(node), name: node.name, count };
  });
  return {
    level: "map",
    keys,
    size: cut.length + 1,
    categories: categories.filter(({ count }) => count).sort((a, b) => b.count - a.count),
    amounts: null,
    ordered: false,
  };
}

/** Layers or heads of all maps. */
export function positional(
  what: "layer" | "head",
  name: (number: number) => string,
  shape: Shape,
  exists: Uint8Array,
): Coded {
  const total = shape.examples * shape.layers * shape.heads;
  const keys = new Uint16Array(total);
  if (what === "head") for (let i = 0; i < total; i++) keys[i] = i % shape.heads;
  else
    for (let start = 0; start < total; start += shape.heads)
      keys.fill((start / shape.heads) % shape.layers, start, start + shape.heads);
  const coded = { level: "map" as const, keys, size: shape[`${what}s`] };
  const counts = tally(coded, shape, exists);
  const categories = [...counts].map((count, key) => ({ key, number: key, name: name(key), count }));
  return {
    ...coded,
    categories: categories.filter((category) => category.count),
    amounts: null,
    ordered: what === "layer",
  };
}

/** An amount in 255 steps between two values that enclose nearly all maps. */
export function amounted(
  values: Uint16Array,
  card: Pick<ColumnCard, "level" | "low" | "high">,
  shape: Shape,
  exists: Uint8Array,
): Coded {
  const counts = tally({ keys: values, level: card.level, size: UNKNOWN + 1 }, shape, exists);
  const known = counts.reduce((sum, count) => sum + count, 0) - counts[UNKNOWN];
  const first = reached(counts, 1);
  const last = known - 1 < 1 ? first : reached(counts, known);
  let from = reached(counts, BEYOND * known);
  let to = reached(counts, (1 - BEYOND) * known);
  if (to <= from) [from, to] = [first, last];
  const keys = new Uint16Array(values.length);
  const scale = (STEPS - 1) / Math.max(1, to - from);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value <= from) continue; // 0
    keys[i] = value === UNKNOWN ? STEPS : value >= to ? STEPS - 1 : ((value - from) * scale + 0.5) | 0;
  }
  const amounts = {
    low: decodeAmount(from, card),
    high: decodeAmount(to, card),
    cutLow: from > first,
    cutHigh: to < last,
    unknown: counts[UNKNOWN],
  };
  return { level: card.level, keys, size: STEPS + 1, categories: null, amounts, ordered: false };
}

/** The smallest value that at least `wanted` known values do not exceed. */
function reached(counts: Uint32Array, wanted: number): number {
  let sum = 0;
  for (let value = 0; value < UNKNOWN; value++) {
    sum += counts[value];
    if (sum > 0 && sum >= wanted) return value;
  }
  return 0;
}

/** Numbers of examples in up to four ranges with about equally many examples. */
export function ranged(
  numbers: (number | null)[],
  shape: Shape,
  exists: Uint8Array,
  format: (value: number) => string,
): Coded {
  const { names, keys } = quarters(numbers, format);
  const coded = { level: "example" as const, keys, size: names.length + 1 };
  const categories: Category[] = [];
  tally(coded, shape, exists).forEach((count, key) => {
    const known = key < names.length;
    if (count) categories.push({ key, number: known ? key : -1, name: known ? names[key] : "unknown", count });
  });
  return { ...coded, categories, amounts: null, ordered: true };
}

/** The color and the mark of each key. */
export function colored(coded: Coded, theme: Theme): { lut: Uint8Array; marks: Uint8Array } {
  const lut = new Uint8Array(4 * coded.size).fill(255);
  const marks = new Uint8Array(coded.size);
  const put = (key: number, color: ArrayLike<number>) => lut.set([color[0], color[1], color[2]], 4 * key);
  for (let key = 0; key < coded.size; key++) put(key, rgb(categoryColor(-1, theme)));
  const scale = ramp("amounts", theme);
  const at = (share: number) => scale.subarray(3 * Math.round(255 * (FAINTEST + (1 - FAINTEST) * share)));
  if (coded.amounts) for (let key = 0; key < STEPS; key++) put(key, at(key / (STEPS - 1)));
  for (const { key, number } of coded.categories ?? []) {
    if (coded.ordered && number >= 0) put(key, at(coded.size > 1 ? number / (coded.size - 1) : 1));
    else put(key, rgb(categoryColor(number, theme)));
    if (!coded.ordered) marks[key] = categoryMark(number);
  }
  return { lut, marks };
}
