// All cells in one picture: the mean map of each head, and below or around it what it is colored by.
import { PART } from "../../generated/thresholds";
import { largest, mapPixels } from "../../lib/draw";
import { categoryColor, categoryMark, textColorOn, scaleColor } from "../../lib/palette";
import type { Pen } from "../../lib/pen";
import type { Theme } from "../../lib/theme.svelte";
import { amount, headPlace } from "../../lib/wording";
import { onScale, type Amounts, type Coloring } from "./coloring";
import { shareOf, type Head, type Mix } from "./heads";
import type { Layout } from "./layout";
import { resampler } from "./resample";

export interface Look {
  theme: Theme;
  paper: string;
  muted: string;
  track: string;
  font: string;
}
const FAINT = 0.22;
const SHEET = 64; // maps in a row of the sheet

/** All maps side by side in tiles of `size` pixels; each repaint copies them from there. */
export function sheetOf(
  maps: Uint16Array,
  heads: Head[],
  resolution: number,
  size: number,
  theme: Theme,
): HTMLCanvasElement {
  const sheet = document.createElement("canvas");
  sheet.width = Math.min(SHEET, heads.length || 1) * size;
  sheet.height = Math.max(1, Math.ceil(heads.length / SHEET)) * size;
  const pen = sheet.getContext("2d")!;
  const sample = resampler(resolution, size);
  const area = resolution * resolution;
  heads.forEach(({ slot }, at) => {
    const values = maps.subarray(slot * area, (slot + 1) * area);
    if (values.length < area) return;
    const pixels = mapPixels(sample(values), size, size, theme, largest(values) || 1);
    pen.putImageData(pixels, (at % SHEET) * size, Math.floor(at / SHEET) * size);
  });
  return sheet;
}

/** A piece of a bar in the color of a cluster, with its second mark: filled, hollow, triangles, crosses. */
function piece(pen: Pen, look: Look, cluster: number, x: number, y: number, width: number, height: number) {
  const mark = categoryMark(cluster);
  pen.fillStyle = pen.strokeStyle = categoryColor(cluster, look.theme);
  if (mark < 2) {
    pen.fillRect(x, y, width, height);
    const edge = Math.max(1, Math.round(height / 4));
    if (mark === 1 && width > 2 * edge) {
      pen.fillStyle = look.paper;
      pen.fillRect(x + edge, y + edge, width - 2 * edge, height - 2 * edge);
    }
    return;
  }
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.lineWidth = height / 4;
  pen.beginPath();
  for (let left = x; left < x + width; left += height) marks(pen, mark, left, y, height);
  if (mark === 2) pen.fill();
  else pen.stroke();
  pen.restore();
}

function marks(pen: Pen, mark: number, x: number, y: number, size: number) {
  pen.moveTo(mark === 2 ? x + size / 2 : x, y);
  pen.lineTo(x + size, y + size);
  if (mark === 2) {
    pen.lineTo(x, y + size);
    pen.closePath();
  } else {
    pen.moveTo(x + size, y);
    pen.lineTo(x, y + size);
  }
}

/** The mix as a stacked bar; if a cluster is given, only its share is colored. */
function mixBar(
  pen: Pen,
  look: Look,
  mix: Mix,
  cluster: number | null,
  x: number,
  y: number,
  width: number,
  height: number,
  space: number,
) {
  if (cluster !== null) {
    const filled = Math.round(width * shareOf(mix, cluster));
    pen.fillStyle = look.track;
    pen.fillRect(x, y, width, height);
    if (filled > 0) piece(pen, look, cluster, x, y, filled, height);
    return;
  }
  let before = 0;
  for (const part of mix.parts) {
    const from = x + Math.round(width * before);
    before += part.share;
    const to = Math.min(x + width, x + Math.round(width * before));
    const between = to < x + width ? space : 0;
    if (to - from - between > 0) piece(pen, look, part.cluster, from, y, to - from - between, height);
  }
}

function amountCard(pen: Pen, amounts: Amounts, at: number, look: Look, layout: Layout, x: number, y: number) {
  const { map, strip, ratio } = layout;
  const value = amounts.values[at];
  const frame = frameOf(layout);
  const share = value === null ? 0 : onScale(amounts, value);
  pen.fillStyle = value === null ? look.track : scaleColor(amounts.scale, look.theme, share);
  pen.fillRect(x - frame, y - frame, map + 2 * frame, map + Math.round(2 * ratio) + strip + frame);
  if (strip < 12 * ratio) return;
  pen.fillStyle = value === null ? look.muted : textColorOn(amounts.scale, look.theme, share);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(amount(value), x + map / 2, y + map + (Math.round(2 * ratio) + strip) / 2 + 0.5 * ratio);
}

/** The width of a colored frame around a map; it stays within the gap. */
const frameOf = ({ gap, ratio }: Layout) => Math.max(1, Math.min(Math.round(2 * ratio), Math.floor((gap - 1) / 2)));

function jobBar(pen: Pen, mix: Mix, look: Look, layout: Layout, x: number, y: number, height: number) {
  const { map, ratio } = layout;
  pen.fillStyle = scaleColor("amounts", look.theme, mix.oneJob ? 0.8 : 0.45);
  if (mix.oneJob) return pen.fillRect(x, y, map, height);
  const space = Math.max(1, Math.round((map > 40 * ratio ? 4 : 2) * ratio));
  const part = (map - 2 * space) / 3;
  for (let i = 0; i < 3; i++) pen.fillRect(x + Math.round(i * (part + space)), y, Math.round(part), height);
}

export interface Picture {
  heads: Head[];
  layout: Layout;
  sheet: HTMLCanvasElement;
  tile: number; // side of a map on the sheet
  coloring: Coloring;
  cluster: number | null; // heads that have it are highlighted
  look: Look;
}

export function paint(pen: Pen, { heads, layout, sheet, tile, coloring, cluster, look }: Picture) {
  const { map, strip, label, ratio, x, y } = layout;
  const bar = Math.min(strip, Math.round((map > 160 * ratio ? 10 : 7) * ratio)); // thinner than the room for numbers
  const below = Math.round(2 * ratio);
  pen.font = `${(map > 160 * ratio ? 14 : 10.5) * ratio}px ${look.font}`;
  heads.forEach((head, at) => {
    const [left, top, mix] = [x[at], y[at], head.mix];
    pen.globalAlpha = cluster === null || shareOf(mix, cluster) >= PART ? 1 : FAINT;
    if (coloring.kind === "amount") amountCard(pen, coloring, at, look, layout, left, top);
    if (coloring.kind === "main" && mix && mix.main !== null) {
      const frame = frameOf(layout);
      pen.fillStyle = categoryColor(mix.main, look.theme);
      pen.fillRect(left - frame, top - frame, map + 2 * frame, map + 2 * frame);
    }
    pen.drawImage(sheet, (at % SHEET) * tile, Math.floor(at / SHEET) * tile, tile, tile, left, top, map, map);
    const barTop = top + map + below + (coloring.kind === "main" ? Math.round(ratio) : 0);
    if (mix && coloring.kind === "mix") mixBar(pen, look, mix, cluster, left, barTop, map, bar, Math.round(ratio));
    if (mix && coloring.kind === "main" && mix.main !== null)
      mixBar(pen, look, mix, mix.main, left, barTop, map, bar, 0);
    if (mix && coloring.kind === "job") jobBar(pen, mix, look, layout, left, barTop, bar);
    if (label) {
      pen.fillStyle = look.muted;
      pen.textAlign = "left";
      pen.textBaseline = "alphabetic";
      pen.fillText(headPlace(head), left, top - Math.round(4 * ratio));
    }
  });
}
