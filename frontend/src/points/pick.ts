// Finding the point under the pointer and the points in a polygon, with a uniform grid over the plane.
import { UNPLACED } from "../lib/encoding";
import { PLANE, type Bounds } from "./camera";
import { HIDDEN } from "./style";
import { edgesBetween, within, type Polygon } from "./polygon";

const BITS = 16; // of a coordinate

export class GridIndex {
  private readonly side: number; // number of cells per row
  private readonly shift: number; // coordinate >> shift is the cell
  private readonly start: Uint32Array; // offset of each cell in `points`
  private readonly points: Uint32Array;

  constructor(
    private readonly positions: Uint16Array,
    members: Uint32Array | null = null,
  ) {
    const count = members?.length ?? positions.length >> 1;
    // four points per cell on average
    const bits = Math.min(9, Math.max(3, Math.round(Math.log2(Math.sqrt(count / 4 + 1)))));
    this.side = 1 << bits;
    this.shift = BITS - bits;
    this.start = new Uint32Array(this.side * this.side + 1);
    this.points = this.sorted(members, count);
  }

  /** A counting sort by cell. Unplaced points are left out. */
  private sorted(members: Uint32Array | null, count: number): Uint32Array {
    const { positions, shift, side, start } = this;
    const cells = new Uint32Array(count);
    const none = side * side;
    for (let k = 0; k < count; k++) {
      const i = members === null ? k : members[k];
      const x = positions[2 * i];
      const cell = x === UNPLACED ? none : (positions[2 * i + 1] >> shift) * side + (x >> shift);
      cells[k] = cell;
      if (cell !== none) start[cell + 1]++;
    }
    for (let c = 0; c < none; c++) start[c + 1] += start[c];
    const next = start.slice();
    const points = new Uint32Array(start[none]);
    for (let k = 0; k < count; k++) if (cells[k] !== none) points[next[cells[k]]++] = members === null ? k : members[k];
    return points;
  }

  /**
   * The point nearest to (x, y), or -1 if there is none within the radius. Cells are searched in rings from the center
   * outwards.
   */
  nearest(x: number, y: number, radius: number, state: Uint8Array | null = null): number {
    const { positions, points, start, side } = this;
    const width = 1 << this.shift;
    const cellOf = (value: number) => Math.min(side - 1, Math.max(0, Math.floor(value / width)));
    const [centerX, centerY] = [cellOf(x), cellOf(y)];
    let best = -1;
    let least = radius * radius;
    const scan = (cy: number, fromX: number, toX: number) => {
      if (cy < 0 || cy >= side) return;
      const end = start[cy * side + Math.min(side - 1, toX) + 1];
      for (let k = start[cy * side + Math.max(0, fromX)]; k < end; k++) {
        const i = points[k];
        const dx = positions[2 * i] - x;
        const dy = positions[2 * i + 1] - y;
        const d = dx * dx + dy * dy;
        if (d <= least && (best < 0 || d < least) && (state === null || state[i] !== HIDDEN)) {
          least = d;
          best = i;
        }
      }
    };
    for (let ring = 0; ring <= side; ring++) {
      const gap = (ring - 1) * width; // minimal distance of the points in this ring
      if (gap > 0 && gap * gap > least) break;
      scan(centerY - ring, centerX - ring, centerX + ring);
      if (ring === 0) continue;
      for (let cy = centerY - ring + 1; cy < centerY + ring; cy++) {
        if (centerX - ring >= 0) scan(cy, centerX - ring, centerX - ring);
        if (centerX + ring < side) scan(cy, centerX + ring, centerX + ring);
      }
      scan(centerY + ring, centerX - ring, centerX + ring);
    }
    return best;
  }

  /** All points in a polygon, in ascending order. Points are tested one by one only in cells that an edge crosses. */
  inside(polygon: Polygon): Uint32Array {
    if (polygon.length < 3) return new Uint32Array(0);
    const { positions, points, start, side } = this;
    const width = 1 << this.shift;
    const crossed = this.crossed(polygon);
    const isInside = new Uint8Array(positions.length >> 1);
    let count = 0;
    const rows = polygon.map(([, y]) => this.cell(y));
    for (let cy = Math.min(...rows); cy <= Math.max(...rows); cy++) {
      const edges = edgesBetween(polygon, cy * width, (cy + 1) * width);
      let cellInside: boolean | null = null; // for the cells since the last crossed one
      for (let cx = 0; cx < side; cx++) {
        const cell = cy * side + cx;
        if (crossed[cell]) {
          cellInside = null;
          for (let k = start[cell]; k < start[cell + 1]; k++) {
            const i = points[k];
            if (!within(edges, positions[2 * i], positions[2 * i + 1])) continue;
            isInside[i] = 1;
            count++;
          }
          continue;
        }
        cellInside ??= within(edges, (cx + 0.5) * width, (cy + 0.5) * width);
        if (!cellInside) continue;
        for (let k = start[cell]; k < start[cell + 1]; k++) isInside[points[k]] = 1;
        count += start[cell + 1] - start[cell];
      }
    }
    const out = new Uint32Array(count);
    for (let i = 0, next = 0; next < count; i++) if (isInside[i]) out[next++] = i;
    return out;
  }

  private cell(value: number): number {
    return Math.min(this.side - 1, Math.max(0, Math.floor(value) >> this.shift));
  }

  /** The cells that an edge touches, with a margin of one unit against rounding errors. */
  private crossed(polygon: Polygon): Uint8Array {
    const width = 1 << this.shift;
    const out = new Uint8Array(this.side * this.side);
    polygon.forEach(([ax, ay], i) => {
      const [bx, by] = polygon[(i + 1) % polygon.length];
      for (let cy = this.cell(Math.min(ay, by) - 1); cy <= this.cell(Math.max(ay, by) + 1); cy++) {
        const clampY = (y: number) => Math.min(Math.max(ay, by), Math.max(Math.min(ay, by), y));
        const xAt = (y: number) => (ay === by ? ax : ax + ((bx - ax) * (y - ay)) / (by - ay));
        const ends = ay === by ? [ax, bx] : [xAt(clampY(cy * width - 1)), xAt(clampY((cy + 1) * width + 1))];
        const last = this.cell(Math.max(...ends) + 1);
        for (let cx = this.cell(Math.min(...ends) - 1); cx <= last; cx++) out[cy * this.side + cx] = 1;
      }
    });
    return out;
  }
}

const grids = new WeakMap<Uint16Array, GridIndex>();

/** The grid of all points, built once per array of positions. */
export function gridOf(positions: Uint16Array): GridIndex {
  let grid = grids.get(positions);
  if (!grid) grids.set(positions, (grid = new GridIndex(positions)));
  return grid;
}

/** The bounding box of the points; null if there are none. */
export function boundsOf(positions: Uint16Array, members: Uint32Array | null = null): Bounds | null {
  const bounds = { left: PLANE, bottom: PLANE, right: -1, top: -1 };
  const total = members?.length ?? positions.length >> 1;
  for (let k = 0; k < total; k++) {
    const i = members ? members[k] : k;
    const x = positions[2 * i];
    const y = positions[2 * i + 1];
    if (x === UNPLACED) continue;
    if (x < bounds.left) bounds.left = x;
    if (x > bounds.right) bounds.right = x;
    if (y < bounds.bottom) bounds.bottom = y;
    if (y > bounds.top) bounds.top = y;
  }
  return bounds.right < 0 ? null : bounds;
}
