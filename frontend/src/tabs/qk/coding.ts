// Colors of points. Each value of a column has two entries in the color table: one for queries, which are discs, and one for
// keys, which are triangles.
import type { PointColumn } from "../../lib/api";
import { CATEGORIES, NOISE_GRAY, rgb, shadeColor } from "../../lib/palette";
import type { Theme } from "../../lib/theme.svelte";
import { amounted, categorical, colored, type Amounts, type Category } from "../maps/coding";

export interface Coded {
  keys: Uint16Array; // of each token, or of each point if it is the role
  size: number; // number of different keys
  categories: Category[] | null; // null: an amount
  amounts: Amounts | null;
  hue: boolean; // whether an amount is an angle on the color wheel
  byRole: boolean;
}

export const QUERY_MARK = 0; // a disc
export const KEY_MARK = 2; // a triangle
const QUERY_COLOR = 0; // of the categories
const KEY_COLOR = 3;

/** Queries and keys. */
export function codedRoles(tokens: number): Coded {
  const categories = ["query", "key"].map((name, key) => ({ key, number: key, name, count: tokens }));
  return { keys: new Uint16Array(tokens), size: 1, categories, amounts: null, hue: false, byRole: true };
}

/** A column: a value per token. */
export function codedTokens(values: Uint16Array, column: PointColumn): Coded {
  const shape = { examples: values.length, layers: 1, heads: 1 };
  const exists = new Uint8Array(values.length).fill(1);
  const name = (number: number) => (number < 0 ? "unknown" : (column.categories[number] ?? String(number)));
  const coded =
    column.kind === "category"
      ? categorical(values, "map", name, shape, exists)
      : amounted(values, { ...column, level: "map" }, shape, exists);
  const { keys, size, categories, amounts } = coded;
  return { keys, size, categories, amounts, hue: column.name === "hue", byRole: false };
}

/** A measure of points, as amounts between two ends. */
export function codedAmounts(values: Uint16Array, low: number | null, high: number | null): Coded {
  const shape = { examples: values.length, layers: 1, heads: 1 };
  const coded = amounted(values, { level: "map", low, high }, shape, new Uint8Array(values.length).fill(1));
  return { ...coded, hue: false, byRole: false };
}

/** The color of a category: ten hues, then their dark and their light shades, then gray. */
export function categoryHex(number: number, theme: Theme): string {
  const count = CATEGORIES.length;
  if (number < 0 || number >= 3 * count) return NOISE_GRAY[theme];
  return number < count ? CATEGORIES[number] : shadeColor(number % count, number < 2 * count ? 0 : 1);
}

/** The colors of all keys, for queries first, then for keys; and their marks. */
export function colorTable(coded: Coded, theme: Theme): { lut: Uint8Array; marks: Uint8Array } {
  const half = new Uint8Array(4 * coded.size).fill(255);
  if (coded.amounts && !coded.hue) {
    half.set(colored({ ...coded, level: "map", ordered: false }, theme).lut);
  } else if (coded.amounts) {
    for (let key = 0; key < coded.size; key++) half.set(hueColor(key, coded, theme), 4 * key);
  } else {
    for (let key = 0; key < coded.size; key++) half.set(rgb(NOISE_GRAY[theme]), 4 * key);
    for (const { key, number } of coded.byRole ? [] : (coded.categories ?? []))
      half.set(rgb(categoryHex(number, theme)), 4 * key);
  }
  const lut = new Uint8Array(8 * coded.size);
  lut.set(half);
  lut.set(half, half.length);
  if (coded.byRole) {
    lut.set(rgb(CATEGORIES[QUERY_COLOR]), 0);
    lut.set(rgb(CATEGORIES[KEY_COLOR]), 4);
  }
  const marks = new Uint8Array(2 * coded.size).fill(QUERY_MARK);
  marks.fill(KEY_MARK, coded.size);
  return { lut, marks };
}

/** Hues have the colors that they are; the last key stands for the unknown. */
function hueColor(key: number, { size, amounts }: Coded, theme: Theme): number[] {
  if (key === size - 1 || !amounts) return rgb(NOISE_GRAY[theme]);
  const degrees = amounts.low + ((amounts.high - amounts.low) * key) / Math.max(1, size - 2);
  const part = (offset: number) => {
    const at = (offset + degrees / 30) % 12;
    return Math.round(255 * (0.5 - 0.38 * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [part(0), part(8), part(4)];
}

/** The keys of points: queries of the tokens, then their keys. */
export function pointKeys(coded: Coded, tokens: Uint32Array | null = null): Uint16Array {
  const count = tokens?.length ?? coded.keys.length;
  const keys = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    const key = coded.keys[tokens ? tokens[i] : i];
    keys[i] = key;
    keys[count + i] = key + coded.size;
  }
  return keys;
}
