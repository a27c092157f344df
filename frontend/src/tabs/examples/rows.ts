// The table of examples: which are shown, and in which order.
import type { Examples } from "../../lib/api";
import { matches } from "../../lib/search";

export type Value = string | number | null;
export interface Column {
  key: string; // `number`, `id`, `tokens` … or `column:NAME` of the dataset
  label: string;
  numeric: boolean;
  value: (example: number) => Value;
}

const FIRST = 50; // a column with more values is not offered as a filter

/** Values of a column to filter by, or null if it has too many or too few. */
export function categories(values: Value[]): string[] | null {
  const seen = new Set<string>();
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (typeof value === "number") return null;
    seen.add(value);
    if (seen.size > FIRST) return null;
  }
  return seen.size > 1 ? [...seen].sort((a, b) => a.localeCompare(b)) : null;
}

/** Whether a column of the dataset holds numbers. */
export const isNumeric = (values: Value[]) =>
  values.some((value) => typeof value === "number") &&
  values.every((value) => value === null || typeof value === "number");

const lowered = new WeakMap<string[], string[]>();
/** Lowercase texts, cached so that repeated searches only scan. */
export function lower(texts: string[]): string[] {
  if (!lowered.has(texts))
    lowered.set(
      texts,
      texts.map((text) => text.toLowerCase()),
    );
  return lowered.get(texts)!;
}

export interface Wanted {
  query: string;
  texts: string[] | null;
  filters: Record<string, string>;
}

/** Indices of the matching examples, in order; matches by id come first. */
export function choose(examples: Examples, { query, texts, filters }: Wanted): Int32Array {
  const hits = query.trim() ? matches(query, lower(examples.id), lower(texts ?? examples.excerpt)) : null;
  const wanted = Object.entries(filters).filter(([name]) => name in examples.columns);
  const count = hits?.length ?? examples.id.length;
  const rows = new Int32Array(count);
  let size = 0;
  for (let i = 0; i < count; i++) {
    const example = hits ? hits[i] : i;
    if (wanted.every(([name, value]) => examples.columns[name][example] === value)) rows[size++] = example;
  }
  return rows.slice(0, size);
}

/** Sort rows by a column; unknown values come last, ties keep their order. */
export function order(rows: Int32Array, column: Column, down: boolean): Int32Array {
  const sign = down ? -1 : 1;
  const size = rows.length;
  const places = Array.from({ length: size }, (_, i) => i);
  if (column.numeric) {
    const keys = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const value = column.value(rows[i]);
      keys[i] = value === null ? Infinity : sign * Number(value);
    }
    places.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
  } else {
    const keys = places.map((i) => column.value(rows[i]));
    const collator = new Intl.Collator("en", { numeric: true });
    places.sort((a, b) => {
      const [first, second] = [keys[a], keys[b]];
      if (first === null || second === null) return first === second ? a - b : first === null ? 1 : -1;
      return sign * collator.compare(String(first), String(second)) || a - b;
    });
  }
  return Int32Array.from(places, (i) => rows[i]);
}
