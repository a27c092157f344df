// Tables for export: one row per head, layer, pattern or match.
import type { Table } from "../../lib/csv";
import { fieldTable } from "../../lib/csv";
import type { CompareView } from "./view.svelte";

/** One row per head: how far it moved, its patterns, and the difference of every statistic. */
export function headTable(view: CompareView): Table {
  const statistics = view.comparison?.statistics ?? [];
  const rows = view.heads.map(({ differences, ...row }) => [...Object.values(row), ...differences]);
  const fields = Object.keys(view.heads[0] ?? {}).filter((name) => name !== "differences");
  return {
    columns: [...fields, ...statistics.map(({ name }) => `difference:${name}`)],
    rows,
    units: Object.fromEntries(statistics.map(({ name, unit }) => [`difference:${name}`, unit])),
  };
}

export const layerTable = (view: CompareView): Table => fieldTable(view.data?.layers ?? []);

/** Patterns with their names. */
export function patternTable(view: CompareView): Table {
  const { columns, rows } = fieldTable(view.data?.patterns ?? []);
  const at = columns.indexOf("cluster");
  return { columns: [...columns, "name"], rows: rows.map((row) => [...row, view.patternName(Number(row[at]))]) };
}
