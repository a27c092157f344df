// What is drawn around the points of the cells: frames, a bar for the trust of each plot, a flag for notes, and the names of
// layers and heads, which stay in view.
import type { EmbeddedHead } from "../../../lib/api";
import type { Pen } from "../../../lib/pen";
import type { HeadRef } from "../../../lib/selection.svelte";
import { ratio } from "../../../lib/wording";
import type { Camera, Size } from "../../../points/camera";
import type { Box } from "../../../points/surface";
import { cellBox, isVisible, type Grid } from "./grid";

export interface Look {
  hairline: string;
  muted: string;
  bar: string;
  track: string;
  warn: string;
  paper: string;
  font: string;
}

export interface Framed {
  grid: Grid;
  camera: Camera;
  size: Size;
  places: HeadRef[];
  facts: (place: HeadRef) => EmbeddedHead | null;
  look: Look;
}

const NUMBERED = 84; // pixels of a cell that has room for numbers
const FLAGGED = 16; // … and for a flag
export const MARGIN = 26; // for the names of layers and heads

/** The height of the bar below a plot of this side. */
export const barHeight = (side: number) => (side >= 48 ? 4 : side >= 20 ? 2 : side >= 12 ? 1 : 0);

/** The part of a cell in which its points are drawn. */
export function plotBox({ x, y, width, height }: Box): Box {
  const gap = Math.max(1, Math.min(6, 0.06 * width));
  const bar = barHeight(width);
  return { x: x + gap / 2, y: y + gap / 2, width: width - gap, height: height - gap - (bar ? bar + 1 : 0) };
}

export function drawFrame(pen: Pen, framed: Framed) {
  const { grid, camera, size, places, facts, look } = framed;
  pen.lineWidth = 1;
  for (const place of places) {
    const cell = cellBox(grid, camera, size, place);
    if (isVisible(cell, size)) drawCell(pen, cell, facts(place), look);
  }
  drawNames(pen, framed);
}

function drawCell(pen: Pen, cell: Box, facts: EmbeddedHead | null, look: Look) {
  const plot = plotBox(cell);
  const bar = barHeight(cell.width);
  if (cell.width >= 8) {
    pen.strokeStyle = look.hairline;
    pen.strokeRect(Math.round(plot.x) + 0.5, Math.round(plot.y) + 0.5, Math.round(plot.width), Math.round(plot.height));
  }
  const trust = facts?.trust ?? null;
  if (bar && trust !== null) {
    const top = plot.y + plot.height + 1;
    pen.fillStyle = look.track;
    pen.fillRect(plot.x, top, plot.width, bar);
    pen.fillStyle = look.bar;
    pen.fillRect(plot.x, top, plot.width * trust, bar);
  }
  if (cell.width >= NUMBERED && trust !== null) {
    pen.font = `11px ${look.font}`;
    pen.fillStyle = look.muted;
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.fillText(ratio(trust), plot.x + plot.width - 4, plot.y + plot.height - 2);
  }
  if (facts?.note && cell.width >= FLAGGED) drawFlag(pen, plot, look);
}

/** A corner that is folded over: there is a note. */
function drawFlag(pen: Pen, { x, y, width }: Box, look: Look) {
  const side = Math.max(5, Math.min(12, 0.16 * width));
  pen.fillStyle = look.warn;
  pen.beginPath();
  pen.moveTo(x + width - side, y);
  pen.lineTo(x + width, y);
  pen.lineTo(x + width, y + side);
  pen.closePath();
  pen.fill();
}

/** Names of layers at the left of each block and of heads above it, or at the edge of the view. */
function drawNames(pen: Pen, { grid, camera, size, look }: Framed) {
  pen.font = `12px ${look.font}`;
  pen.textBaseline = "middle";
  const { width: side } = cellBox(grid, camera, size, { layer: 0, head: 0 });
  const step = Math.max(1, Math.ceil(14 / side)); // every so many names have room
  for (let layer = 0; layer < grid.layers; layer++) {
    const cell = cellBox(grid, camera, size, { layer, head: 0 });
    const end = cell.x + grid.heads * side;
    const x = Math.max(MARGIN, cell.x) - 5;
    if ((layer % grid.rows) % step || end < MARGIN || cell.x > size.width || x > end) continue;
    const y = cell.y + side / 2;
    if (y < MARGIN - 10 || y > size.height) continue;
    label(pen, `L${layer}`, x, y, "right", look);
  }
  const stepAcross = Math.max(1, Math.ceil(26 / side));
  for (let block = 0; block < grid.blocks; block++)
    for (let head = 0; head < grid.heads; head += stepAcross) {
      const cell = cellBox(grid, camera, size, { layer: block * grid.rows, head });
      const x = cell.x + side / 2;
      const bottom = cell.y + Math.min(grid.rows, grid.layers - block * grid.rows) * side;
      const y = Math.max(MARGIN, cell.y) - 9;
      if (x < MARGIN || x > size.width || y > bottom) continue;
      label(pen, `H${head}`, x, y, "center", look);
    }
}

/** A name on a patch of the background, since points may be behind it. */
function label(pen: Pen, text: string, x: number, y: number, align: "right" | "center", look: Look) {
  const { width } = pen.measureText(text);
  const left = align === "right" ? x - width : x - width / 2;
  pen.globalAlpha = 0.8;
  pen.fillStyle = look.paper;
  pen.fillRect(left - 2, y - 7, width + 4, 14);
  pen.globalAlpha = 1;
  pen.fillStyle = look.muted;
  pen.textAlign = align;
  pen.fillText(text, x, y);
}
