// All cells in one picture: the mean map of each head, and below or around it what it is colored by.
import { PART } from "../../generated/thresholds";
import { categoryColor, categoryMark, scaleColor } from "../../lib/palette";
import type { Pen } from "../../lib/pen";
import { headPlace } from "../../lib/wording";
import { amountCard, cellFont, frameOf } from "../../parts/grid/amounts";
import type { Layout } from "../../parts/grid/layout";
import { drawTile, type Drawn, type Look } from "../../parts/grid/sheet";
import type { Coloring } from "./coloring";
import { shareOf, type Head, type Mix } from "./heads";

const FAINT = 0.22;

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

function jobBar(pen: Pen, mix: Mix, look: Look, layout: Layout, x: number, y: number, height: number) {
  const { map, ratio } = layout;
  pen.fillStyle = scaleColor("amounts", look.theme, mix.oneJob ? 0.8 : 0.45);
  if (mix.oneJob) return pen.fillRect(x, y, map, height);
  const space = Math.max(1, Math.round((map > 40 * ratio ? 4 : 2) * ratio));
  const part = (map - 2 * space) / 3;
  for (let i = 0; i < 3; i++) pen.fillRect(x + Math.round(i * (part + space)), y, Math.round(part), height);
}

/** `cluster`: heads that have it are highlighted. */
export function paint(pen: Pen, drawn: Drawn, heads: Head[], coloring: Coloring, cluster: number | null) {
  const { layout, look } = drawn;
  const { map, strip, label, ratio, x, y } = layout;
  const bar = Math.min(strip, Math.round((map > 160 * ratio ? 10 : 7) * ratio)); // thinner than the room for numbers
  const below = Math.round(2 * ratio);
  pen.font = cellFont(layout, look);
  heads.forEach((head, at) => {
    const [left, top, mix] = [x[at], y[at], head.mix];
    pen.globalAlpha = cluster === null || shareOf(mix, cluster) >= PART ? 1 : FAINT;
    if (coloring.kind === "amount") amountCard(pen, coloring, at, look, layout);
    if (coloring.kind === "main" && mix && mix.main !== null) {
      const frame = frameOf(layout);
      pen.fillStyle = categoryColor(mix.main, look.theme);
      pen.fillRect(left - frame, top - frame, map + 2 * frame, map + 2 * frame);
    }
    drawTile(pen, drawn, at);
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
