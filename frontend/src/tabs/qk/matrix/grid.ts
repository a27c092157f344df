// Where the cells of the matrix lie: layers down, heads across, on the plane of the cameras of points/. Layers that are many
// more than heads continue in a second block at the right.
import type { HeadRef } from "../../../lib/selection.svelte";
import { PLANE, scaleOf, toPlane, toScreen, type Bounds, type Camera, type Size } from "../../../points/camera";
import type { Box } from "../../../points/surface";

export interface Grid {
  layers: number;
  heads: number; // of the widest layer
  blocks: number; // side by side
  rows: number; // layers of a block
  side: number; // of a cell, in the plane
}

const ASPECT = 1.6; // width by height of the space, about
const MOST_BLOCKS = 6;
const BETWEEN = 1; // cells between two blocks, for the names of layers

/** The grid with the largest cells. It depends on the model only, so that a link shows the same in every window. */
export function gridOf(layers: number, heads: number): Grid {
  const across = (blocks: number) => blocks * heads + (blocks - 1) * BETWEEN;
  const cells = (blocks: number) => Math.max(across(blocks), ASPECT * Math.ceil(layers / blocks));
  let blocks = 1;
  for (let more = 2; more <= Math.min(MOST_BLOCKS, layers); more++) if (cells(more) < cells(blocks)) blocks = more;
  const rows = Math.ceil(layers / blocks);
  return { layers, heads, blocks, rows, side: PLANE / Math.max(across(blocks), rows) };
}

const columnOf = ({ rows, heads }: Grid, { layer, head }: HeadRef) =>
  Math.floor(layer / rows) * (heads + BETWEEN) + head;

export const boundsOfGrid = ({ blocks, heads, rows, side }: Grid): Bounds => ({
  left: 0,
  right: side * (blocks * heads + (blocks - 1) * BETWEEN),
  top: PLANE,
  bottom: PLANE - side * rows,
});

/** The part of the plane of a head. */
export function boundsOfCell(grid: Grid, place: HeadRef): Bounds {
  const left = columnOf(grid, place) * grid.side;
  const top = PLANE - (place.layer % grid.rows) * grid.side;
  return { left, right: left + grid.side, top, bottom: top - grid.side };
}

/** The cell of a head, in pixels. */
export function cellBox(grid: Grid, camera: Camera, size: Size, place: HeadRef): Box {
  const { left, top } = boundsOfCell(grid, place);
  const [x, y] = toScreen(camera, size, left, top);
  const side = grid.side * scaleOf(camera, size);
  return { x, y, width: side, height: side };
}

/** The head at a pixel, whether or not there is one. */
export function placeAt(grid: Grid, camera: Camera, size: Size, x: number, y: number): HeadRef | null {
  const [px, py] = toPlane(camera, size, x, y);
  const column = Math.floor(px / grid.side);
  const row = Math.floor((PLANE - py) / grid.side);
  const block = Math.floor(column / (grid.heads + BETWEEN));
  const head = column - block * (grid.heads + BETWEEN);
  const layer = block * grid.rows + row;
  const inside = row >= 0 && row < grid.rows && block >= 0 && block < grid.blocks && head < grid.heads;
  return inside && layer < grid.layers ? { layer, head } : null;
}

/** Whether a box can be seen. */
export const isVisible = ({ x, y, width, height }: Box, size: Size) =>
  x < size.width && y < size.height && x + width > 0 && y + height > 0;

export type Step = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

/** The next head in a direction; itself at the edge. `heads` has the number of heads of each layer. */
export function nextHead(heads: number[], { layer, head }: HeadRef, step: Step): HeadRef {
  const along = step === "ArrowRight" ? 1 : step === "ArrowLeft" ? -1 : 0;
  const down = step === "ArrowDown" ? 1 : step === "ArrowUp" ? -1 : 0;
  let next = layer + down;
  while (heads[next] === 0) next += down || 1; // layers without heads are skipped
  if (heads[next] === undefined) return { layer, head };
  return { layer: next, head: Math.max(0, Math.min(heads[next] - 1, head + along)) };
}
