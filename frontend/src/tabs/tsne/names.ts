// Where words are written beside their points: never over one another, never over a point, and where there is a choice
// not so near to another point that one could take the word for its. The first in the list have the right of way.
import type { Size } from "../../points/camera";

export interface Name {
  i: number; // the point it belongs to
  text: string;
  width: number; // pixels
}

export interface Written extends Name {
  x: number; // of its left end
  y: number; // of its middle
}

type Spot = readonly [x: number, y: number];
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const HALF = 6.5; // half the height of letters
const AWAY = 6; // from the middle of a point to its word
const DOT = 3; // radius of a point
const CLEAR = 6; // from a word to a point that it does not belong to, if there is room
const SIDE = 32; // pixels of a bucket

/** Where the left end and the middle of a word may be: right, left, above, below, and between these. */
const places = (x: number, y: number, width: number): Spot[] => [
  [x + AWAY, y],
  [x - AWAY - width, y],
  [x - width / 2, y - 11],
  [x - width / 2, y + 11],
  [x + 4, y - 9],
  [x + 4, y + 9],
  [x - 4 - width, y - 9],
  [x - 4 - width, y + 9],
  [x - 0.2 * width, y - 12],
  [x - 0.8 * width, y - 12],
  [x - 0.2 * width, y + 12],
  [x - 0.8 * width, y + 12],
];

class Buckets<T> {
  private readonly kept = new Map<number, T[]>();
  private *cells({ left, top, right, bottom }: Box) {
    for (let row = Math.floor(top / SIDE); row <= Math.floor(bottom / SIDE); row++)
      for (let column = Math.floor(left / SIDE); column <= Math.floor(right / SIDE); column++)
        yield row * 4096 + column;
  }
  add(box: Box, one: T) {
    for (const cell of this.cells(box)) {
      const there = this.kept.get(cell);
      if (there) there.push(one);
      else this.kept.set(cell, [one]);
    }
  }
  some(box: Box, hits: (one: T) => boolean): boolean {
    for (const cell of this.cells(box)) if (this.kept.get(cell)?.some(hits)) return true;
    return false;
  }
}

const grown = ({ left, top, right, bottom }: Box, by: number): Box => ({
  left: left - by,
  top: top - by,
  right: right + by,
  bottom: bottom + by,
});
const meets = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/**
 * Words that have room among `spots`, all points of the picture, and beside what is `taken`; with `over` they may lie
 * over points if they must.
 */
export function written(
  names: readonly Name[],
  spots: readonly Spot[],
  size: Size,
  taken: readonly Box[] = [],
  over = false,
): Written[] {
  const [points, words, out] = [new Buckets<number>(), new Buckets<Box>(), [] as Written[]];
  const frame = { left: 0, top: 0, right: size.width, bottom: size.height };
  const outside = ([x, y]: Spot) =>
    Number.isNaN(x) || x < -DOT || y < -DOT || x > frame.right + DOT || y > frame.bottom + DOT;
  spots.forEach(([x, y], i) => outside([x, y]) || points.add({ left: x, top: y, right: x, bottom: y }, i));
  for (const box of taken) words.add(box, box);
  for (const name of names) {
    const [x, y] = spots[name.i];
    if (outside([x, y])) continue;
    let [found, least] = [null as Spot | null, over ? 3 : 2];
    for (const [left, middle] of places(x, y, name.width)) {
      const box = { left, top: middle - HALF, right: left + name.width, bottom: middle + HALF };
      if (box.left < 1 || box.top < 1 || box.right > frame.right - 1 || box.bottom > frame.bottom - 1) continue;
      if (words.some(grown(box, 2), (one) => meets(one, grown(box, 2)))) continue;
      const near = (by: number) => {
        const around = grown(box, by);
        return points.some(
          around,
          (i) =>
            i !== name.i &&
            spots[i][0] > around.left &&
            spots[i][0] < around.right &&
            spots[i][1] > around.top &&
            spots[i][1] < around.bottom,
        );
      };
      const cost = !near(CLEAR) ? 0 : !near(DOT) ? 1 : 2;
      if (cost < least) [found, least] = [[left, middle], cost];
      if (!cost) break;
    }
    if (!found) continue;
    out.push({ ...name, x: found[0], y: found[1] });
    const box = { left: found[0], top: found[1] - HALF, right: found[0] + name.width, bottom: found[1] + HALF };
    words.add(box, box);
  }
  return out;
}
