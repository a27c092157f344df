// Maps side by side for exported files: larger than on the screen, with their tokens at the axes.
import { shapesBy, type Raster } from "../../lib/canvas";
import type { Pen } from "../../lib/pen";
import type { Shape } from "../../lib/shapes";
import type { Theme } from "../../lib/theme.svelte";
import { headName } from "../../lib/wording";
import { drawCross, drawHeat, EVERY_CELL, pageColors, type Plot } from "./heat";
import { seenOne, type Bundle } from "./maps";
import { Pyramid } from "./pyramid";
import type { Options } from "./reduce";
import { cellSize, gridColumns } from "./sizes";
import { BY, type Focus } from "./tints";

const [LEFT, ABOVE, CAPTION, GAP] = [64, 56, 22, 20];

export interface Look {
  options: Options;
  top: number; // attention at the end of the color scale
  theme: Theme;
  focus: Focus | null;
}

export function labeledMaps(raster: Raster, bundle: Bundle, look: Look, element: Element): Shape {
  const plots = bundle.each.map((_, at) => plotOf(bundle, at, look, element));
  const width = Math.max(...plots.map((plot) => LEFT + plot.width)) + GAP;
  const height = Math.max(...plots.map((plot) => ABOVE + plot.height)) + CAPTION + GAP;
  const across = gridColumns(plots.length, width);
  const draw = (pen: Pen) =>
    plots.forEach((plot, at) => {
      pen.save();
      pen.translate((at % across) * width, Math.floor(at / across) * height);
      pen.font = `600 12px ${getComputedStyle(element).fontFamily}`;
      pen.fillStyle = plot.colors.ink;
      pen.fillText(headName(bundle.heads[at]), LEFT, 13);
      pen.translate(0, CAPTION);
      drawHeat(pen, plot);
      drawCross(pen, plot, look.focus, BY);
      pen.restore();
    });
  const size = { width: across * width - GAP, height: Math.ceil(plots.length / across) * height - GAP };
  return { ...shapesBy(raster, draw), size };
}

function plotOf(bundle: Bundle, at: number, { options, top, theme }: Look, element: Element): Plot {
  const seen = seenOne(bundle, at, options);
  const { rows, columns, queries, keys } = seen;
  const { cell, font } = cellSize(rows, columns);
  return {
    pyramid: new Pyramid(seen),
    rows,
    columns,
    queries,
    keys,
    view: { x: 0, y: 0, cell },
    width: columns * cell,
    height: rows * cell,
    theme,
    top,
    colors: pageColors(element),
    left: LEFT,
    above: ABOVE,
    font,
    density: EVERY_CELL,
  };
}
