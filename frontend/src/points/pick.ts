// Which point is under the pointer, and which lie inside a polygon: a uniform grid over the plane answers both without
// the graphics card.
import { UNPLACED } from "../lib/encoding";
import { PLANE, type Bounds } from "./camera";
import { HIDDEN } from "./style";
import { edgesBetween, within, type Polygon } from "./polygon";

const BITS = 16; // of a coordinate

export class GridIndex {
  private readonly side: number; // cells across
  private readonly shift: number; // a coordinate moved right by so many bits is its cell
  private readonly start: Uint32Array; // where the points of each cell begin in `points`
  private readonly points: Uint32Array;

  constructor(
    private readonly positions: Uint16Array,
    members: Uint32Array | null = null,
  ) {
    const count = members?.length ?? positions.length >> 1;
    // about four points a cell if they were spread evenly; clusters are denser
    const bits = Math.min(9, Math.max(3, Math.round(Math.log2(Math.sqrt(count / 4 + 1)))));
    this.side = 1 << bits;
    this.shift = BITS - bits;
    this.start = new Uint32Array(this.side * this.side + 1);
    this.points = this.sorted(members, count);
  }

  /** A counting sort by cell; it leaves out points that have no place. */
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
   * The point nearest to a place, or -1 if none lies within the radius. Cells are searched in rings from the middle
   * outwards: among many points the first rings decide.
   */
  nearest(x: number, y: number, radius: number, state: Uint8Array | null = null): number {
    const { positions, points, start, side } = this;
    const width = 1 << this.shift;
    const clamp = (value: number) => Math.min(side - 1, Math.max(0, Math.floor(value / width)));
    const [middleX, middleY] = [clamp(x), clamp(y)];
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
      const gap = (ring - 1) * width; // no point of this ring is nearer
      if (gap > 0 && gap * gap > least) break;
      scan(middleY - ring, middleX - ring, middleX + ring);
      if (ring === 0) continue;
      for (let cy = middleY - ring + 1; cy < middleY + ring; cy++) {
        if (middleX - ring >= 0) scan(cy, middleX - ring, middleX - ring);
        if (middleX + ring < side) scan(cy, middleX + ring, middleX + ring);
      }
      scan(middleY + ring, middleX - ring, middleX + ring);
    }
    return best;
  }

  /** All points inside, in ascending order. Only points of cells that an edge crosses are held against the polygon. */
  inside(polygon: Polygon): Uint32Array {
    if (polygon.length < 3) return new Uint32Array(0);
    const { positions, points, start, side } = this;
    const width = 1 << this.shift;
    const crossed = this.crossed(polygon);
    const found = new Uint8Array(positions.length >> 1);
    let count = 0;
    const rows = polygon.map(([, y]) => this.cell(y));
    for (let cy = Math.min(...rows); cy <= Math.max(...rows); cy++) {
      const edges = edgesBetween(polygon, cy * width, (cy + 1) * width);
      let whole: boolean | null = null; // of the cells since the last edge
      for (let cx = 0; cx < side; cx++) {
        const cell = cy * side + cx;
        if (crossed[cell]) {
          whole = null;
          for (let k = start[cell]; k < start[cell + 1]; k++) {
            const i = points[k];
            if (!within(edges, positions[2 * i], positions[2 * i + 1])) continue;
            found[i] = 1;
            count++;
          }
          continue;
        }
        whole ??= within(edges, (cx + 0.5) * width, (cy + 0.5) * width);
        if (!whole) continue;
        for (let k = start[cell]; k < start[cell + 1]; k++) found[points[k]] = 1;
        count += start[cell + 1] - start[cell];
      }
    }
    const out = new Uint32Array(count);
    for (let i = 0, at = 0; at < count; i++) if (found[i]) out[at++] = i;
    return out;
  }

  private cell(value: number): number {
    return Math.min(this.side - 1, Math.max(0, Math.floor(value) >> this.shift));
  }

  /** The cells that an edge touches, one unit to each side included: rounding must not lose any. */
  private crossed(polygon: Polygon): Uint8Array {
    const width = 1 << this.shift;
    const out = new Uint8Array(this.side * this.side);
    polygon.forEach(([ax, ay], at) => {
      const [bx, by] = polygon[(at + 1) % polygon.length];
      for (let cy = this.cell(Math.min(ay, by) - 1); cy <= this.cell(Math.max(ay, by) + 1); cy++) {
        const clip = (y: number) => Math.min(Math.max(ay, by), Math.max(Math.min(ay, by), y));
        const xAt = (y: number) => (ay === by ? ax : ax + ((bx - ax) * (y - ay)) / (by - ay));
        const ends = ay === by ? [ax, bx] : [xAt(clip(cy * width - 1)), xAt(clip((cy + 1) * width + 1))];
        const last = this.cell(Math.max(...ends) + 1);
        for (let cx = this.cell(Math.min(...ends) - 1); cx <= last; cx++) out[cy * this.side + cx] = 1;
      }
    });
    return out;
  }
}

const made = new WeakMap<Uint16Array, GridIndex>();

/** The grid of all points: built when first asked for, and shared by all who ask for the same positions. */
export function gridOf(positions: Uint16Array): GridIndex {
  let grid = made.get(positions);
  if (!grid) made.set(positions, (grid = new GridIndex(positions)));
  return grid;
}

/** How far the points reach, or null if there are none. */
export function boundsOf(positions: Uint16Array): Bounds | null {
  const bounds = { left: PLANE, bottom: PLANE, right: -1, top: -1 };
  for (let i = 0; i < positions.length; i += 2) {
    const x = positions[i];
    const y = positions[i + 1];
    if (x === UNPLACED) continue;
    if (x < bounds.left) bounds.left = x;
    if (x > bounds.right) bounds.right = x;
    if (y < bounds.bottom) bounds.bottom = y;
    if (y > bounds.top) bounds.top = y;
  }
  return bounds.right < 0 ? null : bounds;
}
