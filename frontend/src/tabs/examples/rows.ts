// The table of examples: which are shown.
import type { Examples } from "../../lib/api";
import { matches } from "../../lib/search";
import type { Value } from "../../lib/table";

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

export interface Wanted {
  query: string;
  texts: string[] | null;
  filters: Record<string, string>;
}

/** Indices of the matching examples, in order; matches by id come first. */
export function choose(examples: Examples, { query, texts, filters }: Wanted): Int32Array {
  const hits = query.trim() ? matches(query, examples.id, texts ?? examples.excerpt) : null;
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
