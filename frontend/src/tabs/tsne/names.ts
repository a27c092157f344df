// Places words next to their points: never over each other or over a point, and if possible not so close to another
// point that the word seems to belong to it. Words earlier in the list are placed first.
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
const CLEAR = 6; // preferred distance of a word from the points of other words
const SIDE = 32; // pixels of a bucket

/** Candidate places of a word (left end, middle): right, left, above, below, and in between. */
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
  private readonly items = new Map<number, T[]>();
  private *cells({ left, top, right, bottom }: Box) {
    for (let row = Math.floor(top / SIDE); row <= Math.floor(bottom / SIDE); row++)
      for (let column = Math.floor(left / SIDE); column <= Math.floor(right / SIDE); column++)
        yield row * 4096 + column;
  }
  add(box: Box, item: T) {
    for (const cell of this.cells(box)) {
      const bucket = this.items.get(cell);
      if (bucket) bucket.push(item);
      else this.items.set(cell, [item]);
    }
  }
  some(box: Box, hits: (item: T) => boolean): boolean {
    for (const cell of this.cells(box)) if (this.items.get(cell)?.some(hits)) return true;
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
 * The words that fit among `spots`, all points of the figure, and outside the boxes in `taken`; with `over` they may
 * cover points if there is no other room.
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
    let [spot, least] = [null as Spot | null, over ? 3 : 2];
    for (const [left, middle] of places(x, y, name.width)) {
      const box = { left, top: middle - HALF, right: left + name.width, bottom: middle + HALF };
      if (box.left < 1 || box.top < 1 || box.right > frame.right - 1 || box.bottom > frame.bottom - 1) continue;
      if (words.some(grown(box, 2), (word) => meets(word, grown(box, 2)))) continue;
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
      if (cost < least) [spot, least] = [[left, middle], cost];
      if (!cost) break;
    }
    if (!spot) continue;
    out.push({ ...name, x: spot[0], y: spot[1] });
    const box = { left: spot[0], top: spot[1] - HALF, right: spot[0] + name.width, bottom: spot[1] + HALF };
    words.add(box, box);
  }
  return out;
}
