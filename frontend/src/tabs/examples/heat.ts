// The large map on its canvases: pixels, axes with tokens, and the crosshair.
import { mapColors } from "../../lib/draw";
import type { Theme } from "../../lib/theme.svelte";
import type { Level, Pyramid, View } from "./pyramid";
import type { Focus } from "./tints";
import { shown, type Unit } from "./tokens";

export const LEFT = 92; // room for the tokens of the rows
export const TOP = 76; // room for the tokens of the columns, written vertically

const pictures = new WeakMap<Level, Map<string, HTMLCanvasElement>>();

/** A level as an image; colors follow the square root of attention. */
export function picture(level: Level, theme: Theme, top: number): HTMLCanvasElement {
  const key = `${theme}${top}`;
  const canvases = pictures.get(level) ?? new Map<string, HTMLCanvasElement>();
  pictures.set(level, canvases);
  const cached = canvases.get(key);
  if (cached) return cached;
  const canvas = document.createElement("canvas");
  canvas.width = level.columns;
  canvas.height = level.rows;
  const image = new ImageData(level.columns, level.rows);
  const words = new Uint32Array(image.data.buffer);
  const colors = mapColors(theme);
  const packed = Uint32Array.from(
    { length: 256 },
    (_, i) => (255 << 24) | (colors[3 * i + 2] << 16) | (colors[3 * i + 1] << 8) | colors[3 * i],
  );
  const scale = 1 / (top || 1);
  for (let i = 0; i < words.length; i++)
    words[i] = packed[Math.min(255, Math.round(255 * Math.sqrt(level.values[i] * scale)))];
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
  colors: Colors;
  font: string;
  density: number; // device pixels
}

function prepare(canvas: HTMLCanvasElement, { width, height, density }: Plot): CanvasRenderingContext2D {
  const [w, h] = [Math.round((LEFT + width) * density), Math.round((TOP + height) * density)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, LEFT + width, TOP + height);
  return context;
}

/** Where segments change: between this unit and the one before. */
export const borders = (units: Unit[]) =>
  units.flatMap((unit, i) => (i > 0 && unit.segment !== units[i - 1].segment ? [i] : []));

export function drawHeat(canvas: HTMLCanvasElement, plot: Plot) {
  const { view, width, height, density, pyramid, rows, columns, colors } = plot;
  const context = prepare(canvas, plot);
  const { level, step } = pyramid.at(view.cell * density);
  context.save();
  context.beginPath();
  context.rect(LEFT, TOP, width, height);
  context.clip();
  context.imageSmoothingEnabled = false;
  const size = view.cell * step;
  context.drawImage(
    picture(level, plot.theme, plot.top),
    LEFT - view.x * view.cell,
    TOP - view.y * view.cell,
    level.columns * size,
    level.rows * size,
  );
  context.strokeStyle = colors.accent;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.beginPath();
  for (const at of borders(plot.keys))
    line(context, LEFT + (at - view.x) * view.cell, TOP, 0, Math.min(height, rows * view.cell));
  for (const at of borders(plot.queries))
    line(context, LEFT, TOP + (at - view.y) * view.cell, Math.min(width, columns * view.cell), 0);
  context.stroke();
  context.restore();
  labels(context, plot);
}

function line(context: CanvasRenderingContext2D, x: number, y: number, across: number, down: number) {
  const [left, top] = [Math.round(x) + 0.5, Math.round(y) + 0.5];
  context.moveTo(left, top);
  context.lineTo(left + across, top + down);
}

/** Tokens at the axes: all of them if there is room, else every second, fifth … */
function labels(
  context: CanvasRenderingContext2D,
  { view, width, height, rows, columns, queries, keys, colors, font }: Plot,
) {
  context.font = font;
  context.fillStyle = colors.muted;
  context.textBaseline = "middle";
  const step = Math.max(1, Math.ceil(12 / view.cell));
  const ends = (first: number, count: number, room: number) => [
    Math.ceil(first - 0.5),
    Math.min(count, Math.floor(first + room / view.cell + 0.5)),
  ];
  const [fromRow, toRow] = ends(view.y, rows, height);
  context.textAlign = "right";
  for (let i = Math.ceil(Math.max(0, fromRow) / step) * step; i < toRow; i += step)
    context.fillText(fitted(context, queries[i].text, LEFT - 10), LEFT - 6, TOP + (i + 0.5 - view.y) * view.cell);
  const [fromColumn, toColumn] = ends(view.x, columns, width);
  context.textAlign = "left";
  for (let j = Math.ceil(Math.max(0, fromColumn) / step) * step; j < toColumn; j += step)
    upwards(context, fitted(context, keys[j].text, TOP - 10), LEFT + (j + 0.5 - view.x) * view.cell);
}

function upwards(context: CanvasRenderingContext2D, text: string, x: number) {
  context.save();
  context.translate(x, TOP - 6);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

/** A token shortened to fit. */
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  for (let most = 24; most > 2; most -= 2) {
    const written = shown(text, most);
    if (context.measureText(written).width <= room) return written;
  }
  return shown(text, 2);
}

/** Crosshair over the row and column pointed at, with their tokens in bold. */
export function drawCross(canvas: HTMLCanvasElement, plot: Plot, focus: Focus | null, by: string) {
  const context = prepare(canvas, plot);
  if (!focus) return;
  const { view, width, height, rows, columns, queries, keys, colors, font } = plot;
  const [right, bottom] = [
    Math.min(width, (columns - view.x) * view.cell),
    Math.min(height, (rows - view.y) * view.cell),
  ];
  const thick = Math.max(view.cell, 2);
  context.save();
  context.beginPath();
  context.rect(LEFT - 1, TOP - 1, right + 2, bottom + 2);
  context.clip();
  context.lineWidth = 1.5;
  if (focus.query !== null) {
    context.strokeStyle = colors.accent;
    context.strokeRect(LEFT, TOP + (focus.query - view.y) * view.cell, right, thick);
  }
  if (focus.key !== null) {
    context.strokeStyle = by;
    context.strokeRect(LEFT + (focus.key - view.x) * view.cell, TOP, thick, bottom);
  }
  context.restore();
  context.font = `600 ${font}`;
  context.textBaseline = "middle";
  const label = (unit: Unit | undefined, at: number, limit: number, down: boolean) => {
    if (!unit || at < 0 || at > limit) return;
    context.fillStyle = colors.paper;
    if (down) context.fillRect(0, TOP + at - 8, LEFT - 2, 16);
    else context.fillRect(LEFT + at - 8, 0, 16, TOP - 2);
    context.fillStyle = colors.ink;
    context.textAlign = down ? "right" : "left";
    if (down) context.fillText(fitted(context, unit.text, LEFT - 10), LEFT - 6, TOP + at);
    else upwards(context, fitted(context, unit.text, TOP - 10), LEFT + at);
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
