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

const FIRST = 50; // a column of more values than that is no category to choose from

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
/** Small letters once for all: a search of many texts then only scans. */
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

/** Numbers of the examples that are wanted, in their order; those found by id come first. */
export function choose(examples: Examples, { query, texts, filters }: Wanted): Int32Array {
  const found = query.trim() ? matches(query, lower(examples.id), lower(texts ?? examples.excerpt)) : null;
  const wanted = Object.entries(filters).filter(([name]) => name in examples.columns);
  const count = found?.length ?? examples.id.length;
  const kept = new Int32Array(count);
  let size = 0;
  for (let i = 0; i < count; i++) {
    const example = found ? found[i] : i;
    if (wanted.every(([name, value]) => examples.columns[name][example] === value)) kept[size++] = example;
  }
  return kept.slice(0, size);
}

/** In the order of a column; what is unknown comes last, equals keep their order. */
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
      const [one, other] = [keys[a], keys[b]];
      if (one === null || other === null) return one === other ? a - b : one === null ? 1 : -1;
      return sign * collator.compare(String(one), String(other)) || a - b;
    });
  }
  return Int32Array.from(places, (i) => rows[i]);
}
