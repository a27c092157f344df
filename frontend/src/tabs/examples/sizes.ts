// How large exported maps are.
const FONT = 11; // pixels, at most
const SIDE = 360; // pixels of a map, as far as tokens leave room
const CELLS = { smallest: 7, largest: 24 }; // pixels of a cell; smaller ones only if a map would be very large
const LARGEST = 900; // pixels of a map
const WIDEST = 2400; // pixels of all maps side by side

/** The size of a cell, and of the text beside it. */
export function cellSize(rows: number, columns: number): { cell: number; font: number } {
  const count = Math.max(rows, columns, 1);
  const wanted = Math.min(CELLS.largest, Math.max(CELLS.smallest, SIDE / count));
  const cell = Math.min(wanted, LARGEST / count);
  return { cell, font: Math.max(6, Math.min(FONT, cell - 1)) };
}

/** Columns of a grid of `count` maps: about as many as rows. */
export const gridColumns = (count: number, width: number) =>
  Math.max(1, Math.min(Math.ceil(Math.sqrt(count)), Math.floor(WIDEST / width)));
