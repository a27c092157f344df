// The position of each cell, as large as the space allows. All numbers are device pixels, so that maps are sharp.
export interface Space {
  width: number; // pixels of the page
  height: number; // Infinity: scrolls
  ratio: number; // device pixels per pixel of the page
  resolution: number; // of the maps
}
export interface Block {
  x: number; // where its gutter begins
  first: number; // layer
  last: number;
}
export interface Layout {
  ratio: number;
  map: number; // side of a map
  strip: number; // height of the bar below it
  label: number; // height of the name above it
  gap: number;
  x: Int32Array; // of the map of each head
  y: Int32Array;
  width: number;
  height: number;
  columns: number; // heads across
  blocks: Block[]; // parts of the layers side by side; none if heads are ranked
}

export const GUTTER = 28; // for the names of layers
export const KINDS = 18; // for their kinds
const BETWEEN = 20; // blocks
const LABEL = 15;
const SCROLLBAR = 16;
const LARGEST = 400;
const SMALLEST = 20;
const SMALLEST_NAMED = 44; // a name has room above it
const COMFORT = 40; // smaller maps are avoided by setting layers side by side, or by scrolling
const FEWEST = 22; // side by side, but not smaller than this
const MOST_BLOCKS = 6;
const AS_LARGE = 0.8; // of the largest size: cells that are a little smaller are better where they fill the width
const EDGE = 3; // around the grid, for the frame of the selected head

export const stripOf = (map: number) => (map >= 160 ? 18 : map >= 52 ? 13 : map >= 32 ? 6 : 4);
const gapOf = (map: number, exact: boolean) => (map >= 52 ? (exact ? 4 : 7) : map >= 32 ? 5 : 3);

interface CellSize {
  map: number;
  gap: number;
}

/** The largest map for which all cells fit, or a slightly smaller one that shows each value as whole pixels. */
function largest({ ratio, resolution }: Space, fits: (size: CellSize) => boolean): CellSize | null {
  let best: CellSize | null = null;
  for (let map = LARGEST; map >= 1; map--) {
    const size = { map, gap: gapOf(map, false) };
    if (fits(size)) {
      best = size;
      break;
    }
  }
  for (let times = Math.floor((LARGEST * ratio) / resolution); best && times >= 1; times--) {
    const map = (times * resolution) / ratio;
    if (map < 0.9 * best.map) break;
    const size = { map, gap: gapOf(map, true) };
    if (fits(size)) return size;
  }
  return best;
}

const cellHeight = ({ map, gap }: CellSize, label: number) => label + map + 2 + stripOf(map) + gap;

/** Layers down, heads across; layers side by side in blocks where that makes cells larger. */
export function gridLayout(
  places: { layer: number; head: number }[],
  layers: number,
  across: number,
  kinds: boolean,
  space: Space,
): Layout {
  const gutter = GUTTER + (kinds ? KINDS : 0);
  const gridWidth = (size: CellSize, blocks: number) =>
    blocks * (gutter + across * (size.map + size.gap)) + (blocks - 1) * BETWEEN + 2 * EDGE;
  const largestFor = (blocks: number) =>
    largest(
      space,
      (size) =>
        gridWidth(size, blocks) <= space.width &&
        Math.ceil(layers / blocks) * cellHeight(size, 0) + 2 * EDGE <= space.height,
    );
  let blocks = 1;
  let best = largestFor(1);
  if (Number.isFinite(space.height) && (best?.map ?? 0) < COMFORT) {
    const tried = Array.from({ length: Math.min(MOST_BLOCKS, layers) }, (_, at) => ({
      count: at + 1,
      size: largestFor(at + 1),
    }));
    const top = Math.max(...tried.map(({ size }) => size?.map ?? 0));
    const large = tried.filter(({ size }) => size && size.map >= Math.max(AS_LARGE * top, Math.min(top, FEWEST)));
    const widest = Math.max(...large.map(({ size, count }) => gridWidth(size!, count)));
    // of those with the largest cells the one that fills the width
    for (const { size, count } of large) if (gridWidth(size!, count) === widest) [best, blocks] = [size, count];
    if ((best?.map ?? 0) < FEWEST) {
      blocks = 1; // it has to scroll
      const room = space.width - SCROLLBAR;
      best = largest(space, (size) => size.map <= COMFORT && gridWidth(size, 1) <= room);
    }
  }
  if (!best || best.map < SMALLEST) best = { map: SMALLEST, gap: gapOf(SMALLEST, false) };
  return placed(places, best, gutter, blocks, layers, across, space.ratio);
}

function placed(
  places: { layer: number; head: number }[],
  size: CellSize,
  gutter: number,
  blocks: number,
  layers: number,
  across: number,
  ratio: number,
): Layout {
  const px = (value: number) => Math.round(value * ratio);
  const [map, gap, strip, edge] = [px(size.map), px(size.gap), px(stripOf(size.map)), px(EDGE)];
  const [stepX, stepY] = [map + gap, map + px(2) + strip + gap];
  const rows = Math.ceil(layers / blocks);
  const blockWidth = px(gutter) + across * stepX + px(BETWEEN);
  return {
    ratio,
    map,
    strip,
    gap,
    label: 0,
    columns: across,
    x: Int32Array.from(
      places,
      ({ layer, head }) => edge + Math.floor(layer / rows) * blockWidth + px(gutter) + head * stepX,
    ),
    y: Int32Array.from(places, ({ layer }) => edge + (layer % rows) * stepY),
    width: blocks * blockWidth - px(BETWEEN) + 2 * edge,
    height: rows * stepY + 2 * edge,
    blocks: Array.from({ length: Math.ceil(layers / rows) }, (_, at) => ({
      x: at * blockWidth,
      first: at * rows,
      last: Math.min(layers, (at + 1) * rows) - 1,
    })),
  };
}

/** One after the other, row by row, each with its name above it. */
export function rankedLayout(order: number[], space: Space): Layout {
  const columnsOf = (size: CellSize, width: number) =>
    Math.max(1, Math.floor((width - 2 * EDGE) / (size.map + size.gap)));
  const fits = (size: CellSize) =>
    Math.ceil(order.length / columnsOf(size, space.width)) * cellHeight(size, LABEL) + 2 * EDGE <= space.height &&
    size.map + size.gap + 2 * EDGE <= space.width;
  let best = Number.isFinite(space.height) ? largest(space, fits) : null;
  let width = space.width;
  if (!best || best.map < SMALLEST_NAMED) {
    best = { map: SMALLEST_NAMED, gap: gapOf(SMALLEST_NAMED, false) };
    width -= Number.isFinite(space.height) ? SCROLLBAR : 0;
  }
  const columns = Math.min(columnsOf(best, width), order.length || 1);
  const px = (value: number) => Math.round(value * space.ratio);
  const [map, gap, strip, label, edge] = [px(best.map), px(best.gap), px(stripOf(best.map)), px(LABEL), px(EDGE)];
  const [stepX, stepY] = [map + gap, label + map + px(2) + strip + gap];
  const x = new Int32Array(order.length);
  const y = new Int32Array(order.length);
  order.forEach((place, at) => {
    x[place] = edge + (at % columns) * stepX;
    y[place] = edge + label + Math.floor(at / columns) * stepY;
  });
  const rows = Math.ceil(order.length / columns);
  return {
    ratio: space.ratio,
    map,
    strip,
    gap,
    label,
    x,
    y,
    columns,
    blocks: [],
    width: columns * stepX + 2 * edge,
    height: rows * stepY + 2 * edge,
  };
}

/** The head at a point of the page, or -1; the gap after a cell belongs to it, so that tooltips do not flicker. */
export function headAt(layout: Layout, pageX: number, pageY: number): number {
  const [px, py] = [pageX * layout.ratio, pageY * layout.ratio];
  const { x, y, map, gap, label, strip, ratio } = layout;
  const below = map + 2 * ratio + strip + gap;
  for (let at = 0; at < x.length; at++)
    if (px >= x[at] && px < x[at] + map + gap && py >= y[at] - label && py < y[at] + below) return at;
  return -1;
}

export type Step = "left" | "right" | "up" | "down";

/** The next head in a direction as seen on the screen; the same one at the edge. */
export function neighbor(layout: Layout, from: number, step: Step): number {
  const { x, y } = layout;
  let best = from;
  let least = Infinity;
  for (let at = 0; at < x.length; at++) {
    const [dx, dy] = [x[at] - x[from], y[at] - y[from]];
    const [along, aside] = { left: [-dx, dy], right: [dx, dy], up: [-dy, dx], down: [dy, dx] }[step];
    if (along <= 0) continue;
    const cost = along + 8 * Math.abs(aside); // straight ahead first, else the nearest
    if (cost < least) [best, least] = [at, cost];
  }
  return best;
}
