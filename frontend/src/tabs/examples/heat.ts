// A map with its axes: cells, tokens, and the crosshair.
import { differenceShare, mapColors, type MapScale } from "../../lib/draw";
import type { Pen } from "../../lib/pen";
import type { Theme } from "../../lib/theme.svelte";
import type { Level, Pyramid, View } from "./pyramid";
import type { Focus } from "./tints";
import { shown, type Unit } from "./tokens";

export const LEFT = 92; // room for the tokens of the rows
export const TOP = 76; // room for the tokens of the columns, written vertically

const pictures = new WeakMap<Level, Map<string, HTMLCanvasElement>>();

/** A level as an image; colors follow the square root of attention, or of differences. */
export function picture(level: Level, theme: Theme, top: number, scale: MapScale = "maps"): HTMLCanvasElement {
  const key = `${theme}${top}${scale}`;
  const canvases = pictures.get(level) ?? new Map<string, HTMLCanvasElement>();
  pictures.set(level, canvases);
  const cached = canvases.get(key);
  if (cached) return cached;
  const canvas = document.createElement("canvas");
  canvas.width = level.columns;
  canvas.height = level.rows;
  const image = new ImageData(level.columns, level.rows);
  const words = new Uint32Array(image.data.buffer);
  const colors = mapColors(theme, scale);
  const packed = Uint32Array.from(
    { length: 256 },
    (_, i) => (255 << 24) | (colors[3 * i + 2] << 16) | (colors[3 * i + 1] << 8) | colors[3 * i],
  );
  const share =
    scale === "maps"
      ? (value: number) => Math.sqrt(value / (top || 1))
      : (value: number) => differenceShare(value, top);
  for (let i = 0; i < words.length; i++) words[i] = packed[Math.min(255, Math.round(255 * share(level.values[i])))];
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  canvases.clear();
  canvases.set(key, canvas);
  return canvas;
}

export interface Colors {
  ink: string;
  muted: string;
  hairline: string;
  paper: string;
  accent: string;
}

export interface Plot {
  pyramid: Pyramid;
  rows: number;
  columns: number;
  queries: Unit[];
  keys: Unit[];
  view: View;
  width: number; // of the map itself, without the axes
  height: number;
  theme: Theme;
  top: number;
  scale?: MapScale;
  colors: Colors;
  left: number; // room for the tokens of the rows
  above: number; // and of the columns
  font: number; // pixels
  density: number; // device pixels
}

export const EVERY_CELL = Infinity; // the density at which no cells are merged, for exported files
export const FONT = 11;
const FAMILY = 'ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace';

/** Where segments change: between this unit and the one before. */
export const borders = (units: Unit[]) =>
  units.flatMap((unit, i) => (i > 0 && unit.segment !== units[i - 1].segment ? [i] : []));

export function drawHeat(context: Pen, plot: Plot) {
  const { view, width, height, density, pyramid, rows, columns, colors, left, above } = plot;
  const { level, step } = pyramid.at(view.cell * density);
  context.save();
  context.beginPath();
  context.rect(left, above, width, height);
  context.clip();
  context.imageSmoothingEnabled = false;
  const size = view.cell * step;
  context.drawImage(
    picture(level, plot.theme, plot.top, plot.scale),
    left - view.x * view.cell,
    above - view.y * view.cell,
    level.columns * size,
    level.rows * size,
  );
  context.strokeStyle = colors.accent;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.beginPath();
  for (const at of borders(plot.keys))
    line(context, left + (at - view.x) * view.cell, above, 0, Math.min(height, rows * view.cell));
  for (const at of borders(plot.queries))
    line(context, left, above + (at - view.y) * view.cell, Math.min(width, columns * view.cell), 0);
  context.stroke();
  context.restore();
  labels(context, plot);
}

function line(context: Pen, x: number, y: number, across: number, down: number) {
  const [left, top] = [Math.round(x) + 0.5, Math.round(y) + 0.5];
  context.moveTo(left, top);
  context.lineTo(left + across, top + down);
}

/** Tokens at the axes: all of them if there is room, else every second, fifth … */
function labels(context: Pen, plot: Plot) {
  const { view, width, height, rows, columns, queries, keys, colors, font, left, above } = plot;
  context.font = `${font}px ${FAMILY}`;
  context.fillStyle = colors.muted;
  context.textBaseline = "middle";
  const step = Math.max(1, Math.ceil((font + 1) / view.cell - 1e-6));
  const ends = (first: number, count: number, room: number) => [
    Math.ceil(first - 0.5),
    Math.min(count, Math.floor(first + room / view.cell + 0.5)),
  ];
  const [fromRow, toRow] = ends(view.y, rows, height);
  context.textAlign = "right";
  for (let i = Math.ceil(Math.max(0, fromRow) / step) * step; i < toRow; i += step)
    context.fillText(fitted(context, queries[i].text, left - 10), left - 6, above + (i + 0.5 - view.y) * view.cell);
  const [fromColumn, toColumn] = ends(view.x, columns, width);
  context.textAlign = "left";
  for (let j = Math.ceil(Math.max(0, fromColumn) / step) * step; j < toColumn; j += step)
    upwards(context, fitted(context, keys[j].text, above - 10), left + (j + 0.5 - view.x) * view.cell, above);
}

function upwards(context: Pen, text: string, x: number, above: number) {
  context.save();
  context.translate(x, above - 6);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

/** A token shortened to fit. */
export function fitted(context: Pick<Pen, "measureText">, text: string, room: number): string {
  for (let most = 24; most > 2; most -= 2) {
    const written = shown(text, most);
    if (context.measureText(written).width <= room) return written;
  }
  return shown(text, 2);
}

/** Crosshair over the row and column pointed at, with their tokens in bold. */
export function drawCross(context: Pen, plot: Plot, focus: Focus | null, by: string) {
  if (!focus) return;
  const { view, width, height, rows, columns, queries, keys, colors, font, left, above } = plot;
  const [right, bottom] = [
    Math.min(width, (columns - view.x) * view.cell),
    Math.min(height, (rows - view.y) * view.cell),
  ];
  const thick = Math.max(view.cell, 2);
  context.save();
  context.beginPath();
  context.rect(left - 1, above - 1, right + 2, bottom + 2);
  context.clip();
  context.lineWidth = 1.5;
  if (focus.query !== null) {
    context.strokeStyle = colors.accent;
    context.strokeRect(left, above + (focus.query - view.y) * view.cell, right, thick);
  }
  if (focus.key !== null) {
    context.strokeStyle = by;
    context.strokeRect(left + (focus.key - view.x) * view.cell, above, thick, bottom);
  }
  context.restore();
  context.font = `600 ${font}px ${FAMILY}`;
  context.textBaseline = "middle";
  const label = (unit: Unit | undefined, at: number, limit: number, down: boolean) => {
    if (!unit || at < 0 || at > limit) return;
    context.fillStyle = colors.paper;
    if (down) context.fillRect(0, above + at - 8, left - 2, 16);
    else context.fillRect(left + at - 8, 0, 16, above - 2);
    context.fillStyle = colors.ink;
    context.textAlign = down ? "right" : "left";
    if (down) context.fillText(fitted(context, unit.text, left - 10), left - 6, above + at);
    else upwards(context, fitted(context, unit.text, above - 10), left + at, above);
  };
  if (focus.query !== null) label(queries[focus.query], (focus.query + 0.5 - view.y) * view.cell, height, true);
  if (focus.key !== null) label(keys[focus.key], (focus.key + 0.5 - view.x) * view.cell, width, false);
}

/** The colors of the page, for canvases. */
export function pageColors(element: Element): Colors {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    muted: of("--muted"),
    hairline: of("--hairline"),
    paper: of("--paper"),
    accent: of("--accent"),
  };
}
