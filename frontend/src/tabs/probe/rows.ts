// Tables of analyses as people read them: a head in one column, and intervals beside their values.
import type { TableRows } from "../../lib/api";
import type { Value } from "../../lib/table";
import { amount, capitalize, count, headName, interval } from "../../lib/wording";

export type Cell = TableRows["rows"][number][number];

export interface ShownColumn {
  key: string;
  label: string;
  numeric: boolean;
  width: number; // in pixels
  value: (row: readonly Cell[]) => Value; // to sort by
  text: (row: readonly Cell[]) => string;
}

const ESTIMATES = ["mean", "score"]; // whose interval is called `low` and `high`
const WIDTHS = { head: 84, number: 84, text: 132, interval: 200 };

/** Truth values as words. */
export const plain = (value: Cell): Value => (typeof value === "boolean" ? (value ? "yes" : "no") : value);
const written = (value: Value) =>
  typeof value !== "number" ? (value ?? "–") : Number.isInteger(value) ? count(value) : amount(value);
const labelOf = (name: string) => capitalize(name.replaceAll("_", " "));

/** The columns of a table: `layer` and `head` become one, and `…_low` and `…_high` stand beside their value. */
export function shownColumns(columns: TableRows["columns"]): ShownColumn[] {
  const place = new Map(columns.map(({ name }, at) => [name, at]));
  const bounds = boundsOf(place);
  const hidden = new Set([...bounds.values()].flat());
  return columns.flatMap(({ name, numeric }, at) => {
    const layer = place.get(name.replace("head", "layer"));
    if (hidden.has(at) || (name.includes("layer") && place.has(name.replace("layer", "head")))) return [];
    if (name.includes("head") && layer !== undefined && layer !== at) return [headColumn(name, layer, at)];
    return [valueColumn(name, numeric, at, bounds.get(at))];
  });
}

/** The places of the ends of an interval, by the place of the value that they belong to. */
function boundsOf(place: Map<string, number>): Map<number, [number, number]> {
  const bounds = new Map<number, [number, number]>();
  for (const [name, low] of place) {
    const stem = /^(?:(.+)_)?low$/.exec(name);
    if (!stem) continue;
    const high = place.get(name.replace(/low$/, "high"));
    const names = stem[1] === undefined ? ESTIMATES : [`${stem[1]}_gain`, stem[1]]; // a gain comes with its interval
    const value = names.map((each) => place.get(each)).find((at) => at !== undefined);
    if (value !== undefined && high !== undefined) bounds.set(value, [low, high]);
  }
  return bounds;
}

function headColumn(name: string, layer: number, head: number): ShownColumn {
  const text = (row: readonly Cell[]) =>
    row[layer] === null ? "–" : headName({ layer: Number(row[layer]), head: Number(row[head]) });
  return { key: name, label: labelOf(name), numeric: false, width: WIDTHS.head, value: text, text };
}

function valueColumn(name: string, numeric: boolean, at: number, bounds: [number, number] | undefined): ShownColumn {
  const value = (row: readonly Cell[]) => plain(row[at]);
  const end = (row: readonly Cell[], place: number) => row[place] as number | null;
  const text = bounds
    ? (row: readonly Cell[]) => interval(end(row, at), end(row, bounds[0]), end(row, bounds[1]), amount)
    : (row: readonly Cell[]) => written(value(row));
  const width = bounds ? WIDTHS.interval : numeric ? WIDTHS.number : WIDTHS.text;
  return { key: name, label: labelOf(name), numeric, width, value, text };
}
