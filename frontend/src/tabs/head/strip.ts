// A strip of examples: one cell each, colored by its cluster, as large as the space allows.
import { cellShape, type Ring } from "../../lib/cell";
import { decodeLabel, MISSING } from "../../lib/encoding";
import { categoryColor, categoryMark, rgb, type Rgb } from "../../lib/palette";
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
  scale: number,
) {
  const { cell, columns, rows } = grid;
  if (cell < 4) return dots(canvas, labels, order, grid, theme);
  canvas.width = Math.round(columns * cell * scale);
  canvas.height = Math.round(rows * cell * scale);
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  const shapes = [0, 1, 2, 3].map((mark) => cellShape(cell - 1, mark));
  const paths = new Map<number, Path2D>();
  let current = -1; // the label whose color is set
  for (let place = 0; place < order.length; place++) {
    const label = labels[order[place]];
    if (label === MISSING) continue;
    const mark = categoryMark(decodeLabel(label)!);
    const [x, y] = [(place % columns) * cell, Math.floor(place / columns) * cell];
    if (mark > 0) {
      if (!paths.has(label)) paths.set(label, new Path2D());
      trace(paths.get(label)!, shapes[mark], x, y);
      continue;
    }
    if (label !== current) context.fillStyle = categoryColor(decodeLabel((current = label))!, theme);
    context.fillRect(x, y, cell - 1, cell - 1);
  }
  for (const [label, path] of paths) {
    context.fillStyle = categoryColor(decodeLabel(label)!, theme);
    context.fill(path, "evenodd");
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
function trace(path: Path2D, rings: Ring[], x: number, y: number) {
  for (const ring of rings) {
    path.moveTo(x + ring[0][0], y + ring[0][1]);
    for (let at = 1; at < ring.length; at++) path.lineTo(x + ring[at][0], y + ring[at][1]);
    path.closePath();
  }
}
