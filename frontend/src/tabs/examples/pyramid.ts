// A map at several sizes. A pixel of several cells shows the largest of them, so that thin lines stay visible.
export interface Level {
  rows: number;
  columns: number;
  values: Float32Array;
}

/** The same map with half the rows and columns: the maximum of each 2 × 2 block. */
export function halve({ rows, columns, values }: Level): Level {
  const [newRows, newColumns] = [Math.ceil(rows / 2), Math.ceil(columns / 2)];
  const out = new Float32Array(newRows * newColumns);
  for (let i = 0; i < rows; i++) {
    const to = (i >> 1) * newColumns;
    for (let j = 0; j < columns; j++) {
      const value = values[i * columns + j];
      if (Math.abs(value) > Math.abs(out[to + (j >> 1)])) out[to + (j >> 1)] = value; // of differences, too
    }
  }
  return { rows: newRows, columns: newColumns, values: out };
}

export class Pyramid {
  private levels: Level[];
  readonly top: number;

  constructor(level: Level) {
    this.levels = [level];
    let top = 0;
    for (const value of level.values) if (value > top) top = value;
    this.top = top;
  }

  /** The level to draw if a cell of the full map is `cell` pixels wide, and the number of cells per pixel of the level. */
  at(cell: number): { level: Level; step: number } {
    let step = 1;
    let number = 0;
    while (cell * step < 1 && this.last(number).rows > 1 && this.last(number).columns > 1) {
      step *= 2;
      number++;
    }
    return { level: this.last(number), step };
  }

  private last(number: number): Level {
    while (this.levels.length <= number) this.levels.push(halve(this.levels[this.levels.length - 1]));
    return this.levels[number];
  }
}

export interface View {
  x: number; // the cell at the left edge
  y: number;
  cell: number; // pixels of a cell
}

/** The view that shows the whole map; cells are square. */
export const fit = (rows: number, columns: number, width: number, height: number): View => ({
  x: 0,
  y: 0,
  cell: Math.max(0.01, Math.min(width / columns, height / rows, 48)),
});

/** Keep a view on the map. */
export function clamp(view: View, rows: number, columns: number, width: number, height: number): View {
  const cell = Math.min(64, Math.max(fit(rows, columns, width, height).cell, view.cell));
  const hold = (value: number, count: number, room: number) => Math.max(0, Math.min(value, count - room / cell));
  return { x: hold(view.x, columns, width), y: hold(view.y, rows, height), cell };
}

/** Zoom about the pointer. */
export function zoom(view: View, factor: number, atX: number, atY: number): View {
  const cell = view.cell * factor;
  return { x: view.x + atX / view.cell - atX / cell, y: view.y + atY / view.cell - atY / cell, cell };
}
