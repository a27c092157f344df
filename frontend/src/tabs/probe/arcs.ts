// Where words and the arcs between them are drawn, so that no two arcs overlap and no label is cut.
export interface WordArc {
  from: number; // words, from 0
  to: number;
}

export interface Layout {
  centers: number[]; // of each word, in pixels
  width: number;
  tops: number[]; // of each arc, above the words
  height: number; // of the highest arc
}

const GAP = 14; // between words, in pixels
const STEP = 16; // between the heights of arcs
const MARGIN = 8;

/** Words side by side; an arc over others is higher than these. */
export function layoutArcs(widths: number[], arcs: WordArc[]): Layout {
  const centers: number[] = [];
  let right = MARGIN;
  for (const width of widths) {
    centers.push(right + width / 2);
    right += width + GAP;
  }
  const levels = levelsOf(arcs);
  return {
    centers,
    width: Math.max(0, right - GAP + MARGIN),
    tops: levels.map((level) => level * STEP + 8),
    height: Math.max(0, ...levels) * STEP + 8,
  };
}

/** The level of each arc, from 1: short arcs first, each above those that it crosses or covers. */
export function levelsOf(arcs: WordArc[]): number[] {
  const ends = arcs.map(({ from, to }) => [Math.min(from, to), Math.max(from, to)]);
  const order = arcs.map((_, i) => i).sort((a, b) => ends[a][1] - ends[a][0] - (ends[b][1] - ends[b][0]) || a - b);
  const levels = arcs.map(() => 0);
  for (const i of order) {
    const below = order.filter((j) => levels[j] && ends[j][0] < ends[i][1] && ends[i][0] < ends[j][1]);
    levels[i] = 1 + Math.max(0, ...below.map((j) => levels[j]));
  }
  return levels;
}
