// Tables, and their text as comma-separated values.
export interface Table {
  columns: string[];
  rows: unknown[][]; // text and numbers; lists and objects are written as JSON
  units?: Record<string, string>; // of columns; by default those of UNITS, but names from a dataset mean something else
}

/** Units of columns that mean the same in every table. Counts have none. */
export const UNITS: Record<string, string> = {
  activity: "share of attention",
  attention: "share of attention",
  "attention to others": "share of attention",
  "chain, longest": "steps",
  "chain, mean": "steps",
  closer_than: "share of pairs",
  cramers_v: "0 to 1",
  delta: "-1 to 1",
  difference_sd: "SD",
  distance: "of vectors",
  entropy: "nats",
  explained: "share of variance",
  explained_high: "share of variance",
  explained_low: "share of variance",
  kept: "share of maps",
  KL: "nats",
  "KL, least": "nats",
  "longest chain": "steps",
  main_share: "share of maps",
  "maximum attention": "share of attention",
  "mean chain": "steps",
  mostly: "share of maps",
  n_tokens: "tokens",
  ratio: "times expected",
  residual: "SD",
  "restarts' KL": "nats",
  share: "share of maps",
  share_of_all: "share of maps",
  share_of_cluster: "share of maps",
  share_real: "share of maps",
  stability: "0 to 1",
  standard_deviations_away: "SD",
  unlike: "times the usual distance",
  "usual share": "share of maps",
};

/** Fields of rows as a table; all fields, unless some are named. */
export function fieldTable<Row extends object>(
  rows: readonly Row[],
  columns = Object.keys(rows[0] ?? {}) as (keyof Row & string)[],
): Table {
  return { columns, rows: rows.map((row) => columns.map((column) => row[column])) };
}

/** A table as comma-separated values; units are in the header, in brackets. */
export function asCsv({ columns, rows, units = UNITS }: Table): string {
  const header = columns.map((column) => {
    const unit = Object.hasOwn(units, column) ? units[column] : "";
    return unit ? `${column} [${unit}]` : column;
  });
  const cell = (value: unknown) => {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
