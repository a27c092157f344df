// A strip of examples: one cell each, colored by its cluster, as large as the space allows.
import { drawings, paintCanvas } from "../../lib/canvas";
import { cellShape, type Ring } from "../../lib/cell";
import { decodeLabel, MISSING } from "../../lib/encoding";
import { categoryColor, categoryMark, rgb, type Rgb } from "../../lib/palette";
import type { Pen } from "../../lib/pen";
import type { Theme } from "../../lib/theme.svelte";

export interface Layout {
  cell: number;
  columns: number;
  rows: number;
}

/** Cells of up to `largest` pixels, so that `count` of them fit in `width` × `height`; never below one pixel. */
export function layout(count: number, width: number, height: number, largest = 20): Layout {
  let cell = Math.max(1, Math.min(largest, Math.floor(Math.sqrt((width * height) / Math.max(1, count))) + 1));
  while (cell > 1 && Math.ceil(count / Math.floor(width / cell)) * cell > height) cell--;
  const columns = Math.max(1, Math.floor(width / cell));
  return { cell, columns, rows: Math.ceil(count / columns) };
}

/** Examples in the order of the dataset, or the shortest first. */
export function ordered(count: number, lengths: number[] | null): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, at) => at);
  return lengths ? order.sort((a, b) => lengths[a] - lengths[b] || a - b) : order;
}

/** Draws squares one by one, and the shapes of further categories as one path per category. */
export function draw(
  canvas: HTMLCanvasElement,
  labels: Uint16Array,
  order: Uint32Array,
  grid: Layout,
  theme: Theme,
  density: number,
) {
  const { cell, columns, rows } = grid;
  if (cell < 4) return dots(canvas, labels, order, grid, theme);
  paintCanvas(canvas, columns * cell, rows * cell, (pen) => squares(pen, labels, order, grid, theme), density);
}

function squares(pen: Pen, labels: Uint16Array, order: Uint32Array, { cell, columns }: Layout, theme: Theme) {
  const shapes = [0, 1, 2, 3].map((mark) => cellShape(cell - 1, mark));
  const marked = new Map<number, number[]>(); // places of each label that is not a square
  const position = (place: number): [number, number] => [(place % columns) * cell, Math.floor(place / columns) * cell];
  let current = -1; // the label whose color is set
  for (let place = 0; place < order.length; place++) {
    const label = labels[order[place]];
    if (label === MISSING) continue;
    if (categoryMark(decodeLabel(label)!) > 0) {
      if (!marked.has(label)) marked.set(label, []);
      marked.get(label)!.push(place);
      continue;
    }
    if (label !== current) pen.fillStyle = categoryColor(decodeLabel((current = label))!, theme);
    pen.fillRect(...position(place), cell - 1, cell - 1);
  }
  for (const [label, places] of marked) {
    const number = decodeLabel(label)!;
    pen.fillStyle = categoryColor(number, theme);
    pen.beginPath();
    for (const place of places) trace(pen, shapes[categoryMark(number)], ...position(place));
    pen.fill("evenodd");
  }
}

/** Cells that are too small for marks and gaps: one pixel each, scaled up by CSS. */
function dots(
  canvas: HTMLCanvasElement,
  labels: Uint16Array,
  order: Uint32Array,
  { columns, rows }: Layout,
  theme: Theme,
) {
  canvas.width = columns;
  canvas.height = rows;
  drawings.delete(canvas);
  const picture = new ImageData(columns, rows);
  const colors = new Map<number, Rgb>();
  for (let place = 0; place < order.length; place++) {
    const label = labels[order[place]];
    if (label === MISSING) continue;
    let color = colors.get(label);
    if (!color) colors.set(label, (color = rgb(categoryColor(decodeLabel(label)!, theme))));
    picture.data[4 * place] = color[0];
    picture.data[4 * place + 1] = color[1];
    picture.data[4 * place + 2] = color[2];
    picture.data[4 * place + 3] = 255;
  }
  canvas.getContext("2d")!.putImageData(picture, 0, 0);
}

/** Adds a shape to a path, at x and y. */
function trace(path: Pen, rings: Ring[], x: number, y: number) {
  for (const ring of rings) {
    path.moveTo(x + ring[0][0], y + ring[0][1]);
    for (let at = 1; at < ring.length; at++) path.lineTo(x + ring[at][0], y + ring[at][1]);
    path.closePath();
  }
}
