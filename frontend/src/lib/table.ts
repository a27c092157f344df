// Tables of examples: their columns, and the order of their rows.

export type Value = string | number | null;
export interface Column {
  key: string; // in the address
  label: string;
  numeric: boolean;
  value: (example: number) => Value;
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

export interface Sorting {
  sort: string | null; // key of a column
  order: "up" | "down" | null;
}

/** The sorting after a click on a heading: numbers start with the largest, the third click ends it. */
export function nextSorting(column: Column, current: { key: string | undefined; down: boolean }): Sorting {
  const again = current.key === column.key;
  const begin = column.numeric && column.key !== "number" ? "down" : "up";
  const next = !again ? begin : current.down ? "up" : "down";
  return again && next === begin ? { sort: null, order: null } : { sort: column.key, order: next };
}
