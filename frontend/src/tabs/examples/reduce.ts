// Turns the maps of heads into the one that is drawn: their mean, optionally without special tokens or by words.
import type { Token } from "../../lib/api";
import { CODES, decodeAttention } from "../../lib/encoding";
import { bare, tokenUnits, wordUnits, type Unit } from "./tokens";

/** A map to draw: attention (query, key), row by row, with the units of its rows and columns. */
export interface Seen {
  rows: number;
  columns: number;
  values: Float32Array;
  queries: Unit[];
  keys: Unit[];
  same: boolean; // queries and keys are the same tokens
  empty: number; // rows that had attention on special tokens only
}

let table: Float32Array | null = null;

/** Attention of each encoded value. */
export function decoding(): Float32Array {
  if (!table) {
    table = new Float32Array(CODES);
    for (let i = 0; i < CODES; i++) table[i] = decodeAttention(i);
  }
  return table;
}

/** Adds an encoded map, `weight` times. */
export function addMap(sum: Float32Array, encoded: Uint16Array, weight = 1) {
  const attention = decoding();
  const size = Math.min(sum.length, encoded.length);
  for (let i = 0; i < size; i++) sum[i] += weight * attention[encoded[i]];
}

/** Keep some rows and columns, and renormalize each row to a sum of 1. */
export function keepOnly(
  values: Float32Array,
  columns: number,
  rowsKept: number[],
  columnsKept: number[],
): { values: Float32Array; empty: number } {
  const out = new Float32Array(rowsKept.length * columnsKept.length);
  let empty = 0;
  rowsKept.forEach((row, i) => {
    let sum = 0;
    for (const column of columnsKept) sum += values[row * columns + column];
    if (!(sum > 1e-9)) empty++;
    else
      for (let j = 0; j < columnsKept.length; j++)
        out[i * columnsKept.length + j] = values[row * columns + columnsKept[j]] / sum;
  });
  return { values: out, empty };
}

/** Sum over the keys of a group, mean over its queries: rows keep their sum. */
export function group(values: Float32Array, columns: number, rows: number[][], keys: number[][]): Float32Array {
  const out = new Float32Array(rows.length * keys.length);
  const target = new Int32Array(columns).fill(-1);
  keys.forEach((members, j) => members.forEach((column) => (target[column] = j)));
  rows.forEach((members, i) => {
    const share = 1 / members.length;
    for (const row of members)
      for (let column = 0; column < columns; column++)
        if (target[column] >= 0) out[i * keys.length + target[column]] += share * values[row * columns + column];
  });
  return out;
}

export interface Options {
  special: boolean; // special tokens are shown
  words: boolean; // tokens of a word are merged
}

/** The map to draw. Special tokens are removed before words are merged. */
export function reduce(values: Float32Array, queries: Token[], keys: Token[], { special, words }: Options): Seen {
  const same = queries === keys;
  let [rowUnits, columnUnits] = [tokenUnits(queries), same ? [] : tokenUnits(keys)];
  if (same) columnUnits = rowUnits;
  let empty = 0;
  const plain = (units: Unit[]) => units.flatMap((unit, i) => (unit.special ? [] : [i]));
  const [rowsKept, columnsKept] = [plain(rowUnits), plain(columnUnits)];
  if (
    !special &&
    rowsKept.length &&
    columnsKept.length &&
    rowsKept.length + columnsKept.length < rowUnits.length + columnUnits.length
  ) {
    ({ values, empty } = keepOnly(values, columnUnits.length, rowsKept, columnsKept));
    const rest = rowsKept.map((i) => rowUnits[i]);
    columnUnits = same ? rest : columnsKept.map((i) => columnUnits[i]);
    rowUnits = rest;
  }
  if (words) {
    const down = wordUnits(rowUnits, queries);
    const across = same ? down : wordUnits(columnUnits, keys);
    if (down.units.length < rowUnits.length || across.units.length < columnUnits.length)
      values = group(values, columnUnits.length, down.parts, across.parts);
    [rowUnits, columnUnits] = [down.units, across.units];
  }
  return {
    rows: rowUnits.length,
    columns: columnUnits.length,
    values,
    queries: rowUnits,
    keys: columnUnits,
    same,
    empty,
  };
}

/** How `from` equal cells overlap `to` equal cells of the same total length: [to][…cell, share of the cell]. */
function overlaps(from: number, to: number): [number, number][][] {
  return Array.from({ length: to }, (_, i) => {
    const [low, high] = [(i * from) / to, ((i + 1) * from) / to];
    const cells: [number, number][] = [];
    for (let j = Math.floor(low); j < Math.min(from, Math.ceil(high - 1e-9)); j++) {
      const share = Math.min(high, j + 1) - Math.max(low, j);
      if (share > 1e-9) cells.push([j, share]);
    }
    return cells;
  });
}

/** Resize a map as pooling does: sum over keys, mean over queries; rows keep their sum. */
export function resample(
  values: Float32Array,
  rows: number,
  columns: number,
  newRows: number,
  newColumns: number,
): Float32Array {
  const [down, across] = [overlaps(rows, newRows), overlaps(columns, newColumns)];
  const out = new Float32Array(newRows * newColumns);
  down.forEach((parts, i) => {
    const total = parts.reduce((sum, [, share]) => sum + share, 0);
    for (const [row, share] of parts)
      across.forEach((cells, j) => {
        for (const [column, part] of cells)
          out[i * newColumns + j] += (share / total) * part * values[row * columns + column];
      });
  });
  return out;
}

/** The tokens in each of `bins` equal parts of a text; the middle of a token decides. */
export function binUnits(tokens: Token[], bins: number): Unit[] {
  const units = tokenUnits(tokens);
  if (units.length <= bins) return units;
  const out: Unit[] = Array.from({ length: bins }, () => ({
    text: "",
    tokens: [],
    special: true,
    segment: 0,
    space: true,
  }));
  units.forEach((unit, i) => {
    const bin = out[Math.min(bins - 1, Math.floor(((i + 0.5) * bins) / units.length))];
    if (!bin.tokens.length) [bin.segment, bin.space] = [unit.segment, unit.space];
    bin.text += (bin.tokens.length && unit.space && !/^\s/.test(unit.text) ? " " : "") + bare(unit.text);
    bin.tokens.push(i);
    bin.special &&= unit.special;
  });
  return out;
}

/** A stored pooled map with the tokens of its rows and columns; maps of short texts are resized to their tokens. */
export function fromPooled(values: Float32Array, r: number, queries: Token[], keys: Token[]): Seen {
  const same = queries === keys;
  const down = binUnits(queries, r);
  const across = same ? down : binUnits(keys, r);
  const [rows, columns] = [down.length, across.length];
  const drawn = rows === r && columns === r ? values : resample(values, r, r, rows, columns);
  return { rows, columns, values: drawn, queries: down, keys: across, same, empty: 0 };
}
