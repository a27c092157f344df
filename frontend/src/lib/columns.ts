// Columns of the dataset as histograms, and filters by their bars. A filter is part of the address: `in.NAME=BAR`.
import type { Computed, Examples } from "./api";
import type { Value } from "./table";

/** A bar: a value of a category, or a range of numbers. */
export interface Bar {
  key: string; // in the address
  label: string;
  ends: [number, number] | null; // of a range
  includes: (value: Value) => boolean;
}

export interface Column {
  name: string;
  label: string;
  numeric: boolean;
  values: Value[];
  bars: Bar[]; // none if there are too many different values to show
  distinct: number;
  unknown: number; // examples without a value
  definition?: string; // of a column that is computed from the texts
}

const RANGES = 16; // bars of a numeric column, about
const MOST = 24; // bars of a category
const TEXTLIKE = 50; // a column of more different values is text, not a category

/** All columns that can be shown: number of tokens first, those of the dataset, then those computed from the texts. */
export function columnsOf(examples: Examples, computed: Computed | undefined): Column[] {
  const lengths: [string, string, Value[]][] = [["n_tokens", "tokens", examples.n_tokens]];
  if (examples.n_target.some((count) => count > 0)) lengths.push(["n_target", "output tokens", examples.n_target]);
  const datasetColumns = Object.entries(examples.columns).map(([name, values]) => [name, name, values] as const);
  const stored = [...lengths, ...datasetColumns].map(([name, label, values]) => columnOf(name, label, values));
  const fromTexts = (computed?.columns ?? []).map(({ name, label, definition, values }) => ({
    ...columnOf(name, label.replace(/^the /, ""), values),
    definition,
  }));
  return [...stored, ...fromTexts.filter(({ distinct }) => distinct > 1)];
}

export function columnOf(name: string, label: string, values: Value[]): Column {
  const known = values.filter((value) => value !== null);
  const numbers = known.filter((value) => typeof value === "number");
  const numeric = numbers.length > 0 && numbers.length === known.length;
  const distinct = new Set(known).size;
  const bars = numeric ? ranges(numbers) : categories(known as string[], distinct);
  return { name, label, numeric, values, bars, distinct, unknown: values.length - known.length };
}

/** Equal steps of a round width from the smallest number to the largest. */
function ranges(numbers: number[]): Bar[] {
  const [low, high] = numbers.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity],
  );
  const step = roundStep((high - low) / RANGES, numbers.every(Number.isInteger));
  const first = Math.floor(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [round((first + i) * step), round((first + i + 1) * step)];
    return {
      key: `${from}..${to}`,
      label: `${from} to ${to}`,
      ends: [from, to],
      includes: (value) => typeof value === "number" && Math.floor(value / step) === first + i,
    };
  });
}

/** 1, 2 or 5 times a power of ten, not smaller than `least`; at least 1 for integers. */
export function roundStep(least: number, integer: boolean): number {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
  return integer ? Math.max(1, step) : step;
}

const round = (value: number) => Number(value.toPrecision(6));

/** The most frequent values; ties in alphabetical order. */
function categories(values: string[], distinct: number): Bar[] {
  if (distinct > TEXTLIKE) return [];
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const order = [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b, "en", { numeric: true }));
  return order
    .slice(0, MOST)
    .map(([value]) => ({ key: value, label: value, ends: null, includes: (other: Value) => other === value }));
}

export interface Filter {
  column: Column;
  bar: Bar;
}

const PREFIX = "in.";
export const parameterOf = (column: Column) => PREFIX + column.name;

/** The filters of an address; unknown columns and bars are ignored. */
export function filtersOf(columns: Column[], params: Record<string, string>): Filter[] {
  return columns.flatMap((column) => {
    const bar = column.bars.find(({ key }) => key === params[parameterOf(column)]);
    return bar ? [{ column, bar }] : [];
  });
}

/** Numbers of the examples that pass all filters. */
export function matching(count: number, filters: Filter[]): number[] {
  const examples = Array.from({ length: count }, (_, example) => example);
  return examples.filter((example) => filters.every(({ column, bar }) => bar.includes(column.values[example])));
}

/** How many of these examples are in each bar. */
export const barCounts = (column: Column, examples: number[]): number[] =>
  column.bars.map((bar) => examples.reduce((sum, example) => sum + Number(bar.includes(column.values[example])), 0));
