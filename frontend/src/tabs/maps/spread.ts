// Distribution of a set of maps over the values of a column, compared with all maps.
import type { ColumnCard, Examples } from "../../lib/api";
import { encodeCode } from "../../lib/encoding";
import { amount, count } from "../../lib/wording";
import { categorical, ranged, tally, type Coded } from "./coding";
import type { Shape } from "./places";

export interface Row {
  number: number;
  name: string;
  maps: number; // of the set
  share: number; // of the set
  all: number; // of all maps
  baseline: number; // share of all maps
}

export interface Factor {
  name: string;
  label: string;
  coded: Coded;
}

/** The values of a column that occur, in the order of the column. */
export function spread(coded: Coded, shape: Shape, exists: Uint8Array, selected: Uint32Array): Row[] {
  const counts = tally(coded, shape, exists, selected);
  const categories = coded.categories ?? [];
  const total = categories.reduce((sum, category) => sum + category.count, 0);
  return categories.map(({ key, number, name, count }) => ({
    number,
    name,
    maps: counts[key],
    share: selected.length ? counts[key] / selected.length : 0,
    all: count,
    baseline: total ? count / total : 0,
  }));
}

/** The rows with the largest shares; ordered values keep their order. */
export function foremost(rows: Row[], ordered: boolean, most: number): Row[] {
  if (rows.length <= most && ordered) return rows;
  const largest = [...rows]
    .sort((a, b) => b.share - a.share || b.baseline - a.baseline)
    .filter((row) => row.maps > 0)
    .slice(0, most);
  return ordered ? rows.filter((row) => largest.includes(row)) : largest;
}

/** Factors of the examples: their length, and the columns of the dataset. */
export function factorsOf(cards: ColumnCard[], examples: Examples, shape: Shape, exists: Uint8Array): Factor[] {
  const factors: Factor[] = [];
  for (const card of cards.filter((column) => column.group === "examples")) {
    const name = card.name.replace(/^example\./, "");
    const values = { n_tokens: examples.n_tokens, n_target: examples.n_target }[name] ?? examples.columns[name];
    if (!values) continue;
    const integers = values.every((value) => value === null || Number.isInteger(value));
    const format = (value: number) => (integers ? count(value) : amount(value));
    const coded =
      card.kind === "number"
        ? ranged(
            values.map((value) => (typeof value === "number" ? value : null)),
            shape,
            exists,
            format,
          )
        : categorical(
            codes(values, card.categories),
            "example",
            (n) => (n < 0 ? "unknown" : card.categories[n]),
            shape,
            exists,
          );
    const unit = card.unit ? `, ${card.unit}` : "";
    factors.push({ name, label: name === "n_tokens" ? `Length${unit}` : card.label + unit, coded });
  }
  return factors;
}

function codes(values: (string | number | null)[], categories: string[]): Uint16Array {
  const places = new Map(categories.map((name, at) => [name, at]));
  return Uint16Array.from(values, (value) => encodeCode(value === null ? null : places.get(String(value))));
}
