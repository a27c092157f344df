// How many points lie in a rectangle of the plane: sums over a fixed grid, built once for all cameras.
import { UNPLACED } from "../lib/encoding";

const BITS = 10;
const SIDE = 1 << BITS; // cells per row
const SHIFT = 16 - BITS; // coordinate >> SHIFT is the cell

export class Density {
  private readonly sums = new Uint32Array((SIDE + 1) * (SIDE + 1)); // points below and left of each corner

  constructor(positions: Uint16Array) {
    const { sums } = this;
    const stride = SIDE + 1;
    for (let i = 0; i < positions.length; i += 2)
      if (positions[i] !== UNPLACED) sums[((positions[i + 1] >> SHIFT) + 1) * stride + (positions[i] >> SHIFT) + 1]++;
    for (let y = 1; y <= SIDE; y++)
      for (let x = 1; x <= SIDE; x++)
        sums[y * stride + x] += sums[(y - 1) * stride + x] + sums[y * stride + x - 1] - sums[(y - 1) * stride + x - 1];
  }

  /** Points in all cells that a rectangle touches, so never fewer than are in it. */
  count(left: number, bottom: number, right: number, top: number): number {
    const cell = (value: number) => Math.max(0, Math.min(SIDE, value));
    const [x0, y0] = [cell(Math.floor(left) >> SHIFT), cell(Math.floor(bottom) >> SHIFT)];
    const [x1, y1] = [cell((Math.floor(right) >> SHIFT) + 1), cell((Math.floor(top) >> SHIFT) + 1)];
    if (x1 <= x0 || y1 <= y0) return 0;
    const at = (y: number, x: number) => this.sums[y * (SIDE + 1) + x];
    return at(y1, x1) - at(y0, x1) - at(y1, x0) + at(y0, x0);
  }
}

const cache = new WeakMap<Uint16Array, Density>();

export function densityOf(positions: Uint16Array): Density {
  if (!cache.has(positions)) cache.set(positions, new Density(positions));
  return cache.get(positions)!;
}
