// The texts of a head in parts, by a column: all texts with a value, or with numbers of a range.
import type { Column } from "../../lib/columns";
import { quarters } from "../../lib/ranges";
import { amount, count } from "../../lib/wording";

export interface Part {
  key: string; // in the address
  label: string;
  phrase: string; // which texts: “with topic = sea”
  texts: Int32Array;
}

const FEW = 6; // different numbers of which each is a part

/** Whether texts can be split by a column: it has several values, but is no free text. */
export const splits = (column: Column) => column.distinct > 1 && column.bars.length > 0;

/** The parts of a column: values, the most frequent first, or ranges of numbers; texts without a value are in none. */
export function partsOf(column: Column): Part[] {
  const { values } = column;
  if (column.numeric && column.distinct > FEW) return inRanges(column);
  const order = column.numeric
    ? [...new Set(values)].filter((value) => value !== null).sort((a, b) => Number(a) - Number(b))
    : column.bars.map(({ key }) => key).sort((a, b) => Number(b === "true") - Number(a === "true"));
  return order.map((value) => ({
    key: String(value),
    ...wordsFor(column, String(value)),
    texts: indicesWhere(values, (other) => other === value),
  }));
}

/** A computed column says whether a text has something: “with quotation marks”. */
function wordsFor({ label, definition }: Column, value: string): Pick<Part, "label" | "phrase"> {
  const has = definition ? { true: `with ${label}`, false: `without ${label}` }[value] : undefined;
  return { label: has ?? value, phrase: has ?? `with ${label} = ${value}` };
}

function inRanges({ label, values }: Column): Part[] {
  const numbers = values as (number | null)[];
  const integers = numbers.every((value) => value === null || Number.isInteger(value));
  const { names, keys } = quarters(numbers, (value) => (integers ? count(value) : amount(value)));
  return names.map((name, range) => ({
    key: String(range + 1),
    label: name,
    phrase: `with ${label} ${name}`,
    texts: indicesWhere(keys, (key) => key === range),
  }));
}

function indicesWhere<T>(values: ArrayLike<T>, test: (value: T) => boolean): Int32Array {
  const found: number[] = [];
  for (let at = 0; at < values.length; at++) if (test(values[at])) found.push(at);
  return Int32Array.from(found);
}

/** The two parts to compare: those of the address, else the first two, or the highest range and the lowest. */
export function comparedParts(
  column: Column,
  parts: Part[],
  first: string | undefined,
  second: string | undefined,
): [Part, Part] | null {
  if (parts.length < 2) return null;
  const named = (key: string | undefined) => parts.find((part) => part.key === key);
  const defaults = column.numeric ? [parts[parts.length - 1], parts[0]] : [parts[0], parts[1]];
  const a = named(first) ?? defaults.find((part) => part.key !== second)!;
  const b = named(second) ?? defaults.find((part) => part !== a) ?? parts.find((part) => part !== a)!;
  return a === b ? null : [a, b];
}
