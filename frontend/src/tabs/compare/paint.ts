// A grid of compared heads: each map in a frame of its amount, with a corner that marks heads that changed.
import type { HeadShift } from "../../lib/api";
import type { Pen } from "../../lib/pen";
import { amountCard, cellFont, type Amounts } from "../../parts/grid/amounts";
import { drawTile, type Drawn } from "../../parts/grid/sheet";

/** The side of the corner on a map of this side, in pixels of the page. */
export const cornerOf = (map: number) => Math.max(6, Math.min(16, map / 4));

/** A corner folded over, in the color of text: visible on every map, and without color. */
function corner(pen: Pen, { layout, look }: Drawn, at: number) {
  const { map, ratio } = layout;
  const side = Math.round(cornerOf(map / ratio) * ratio);
  const [right, top] = [layout.x[at] + map, layout.y[at]];
  const triangle = (size: number, color: string) => {
    pen.beginPath();
    pen.moveTo(right - size, top);
    pen.lineTo(right, top);
    pen.lineTo(right, top + size);
    pen.closePath();
    pen.fillStyle = color;
    pen.fill();
  };
  triangle(side + 2 * ratio, look.paper);
  triangle(side, look.ink);
}

/** A head without a counterpart: a line across an empty cell. */
function absent(pen: Pen, { layout, look }: Drawn, at: number) {
  const { map, ratio } = layout;
  const [x, y] = [layout.x[at], layout.y[at]];
  pen.fillStyle = look.paper;
  pen.fillRect(x, y, map, map);
  pen.strokeStyle = look.track;
  pen.lineWidth = ratio;
  pen.strokeRect(x + ratio / 2, y + ratio / 2, map - ratio, map - ratio);
  pen.beginPath();
  pen.moveTo(x, y + map);
  pen.lineTo(x + map, y);
  pen.stroke();
}

/** `missing`: whether a head has no map here. */
export function paint(
  pen: Pen,
  drawn: Drawn,
  heads: HeadShift[],
  amounts: Amounts | null,
  missing: (at: number) => boolean,
) {
  pen.font = cellFont(drawn.layout, drawn.look);
  heads.forEach((head, at) => {
    if (amounts) amountCard(pen, amounts, at, drawn.look, drawn.layout);
    if (missing(at)) absent(pen, drawn, at);
    else drawTile(pen, drawn, at);
    if (head.changed) corner(pen, drawn, at);
  });
}
