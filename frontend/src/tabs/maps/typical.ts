// Typical maps of a set, and the centers of clusters, by position on the plane.
import { CODES, UNPLACED } from "../../lib/encoding";

const BINS = 1024; // for the medians of clusters: precise enough to find a map

/** The median of both coordinates. */
export function middle(positions: Uint16Array, selected: Uint32Array): [number, number] {
  return [0, 1].map((axis) => {
    const counts = new Uint32Array(CODES);
    for (let k = 0; k < selected.length; k++) counts[positions[2 * selected[k] + axis]]++;
    return halfway(counts, 0, CODES, selected.length);
  }) as [number, number];
}

function halfway(counts: Uint32Array, first: number, length: number, total: number): number {
  let sum = 0;
  for (let k = 0; k < length; k++) if ((sum += counts[first + k]) * 2 >= total && sum > 0) return k;
  return 0;
}

/** Where the name of each key is written: at the map nearest to the median, since the median of a cluster of several
 *  islands lies between them; null if there are no maps. */
export function middles(positions: Uint16Array, keys: Uint16Array, size: number): ([number, number] | null)[] {
  const [across, up] = [new Uint32Array(size * BINS), new Uint32Array(size * BINS)];
  const totals = new Uint32Array(size);
  for (let i = 0; i < keys.length; i++) {
    if (positions[2 * i] === UNPLACED) continue;
    const first = keys[i] * BINS;
    totals[keys[i]]++;
    across[first + (positions[2 * i] >> 6)]++;
    up[first + (positions[2 * i + 1] >> 6)]++;
  }
  const aim = (counts: Uint32Array) =>
    Float64Array.from(totals, (total, key) => 64 * halfway(counts, key * BINS, BINS, total) + 32);
  const [x, y] = [aim(across), aim(up)];
  const far = new Float64Array(size).fill(Infinity);
  const best = new Int32Array(size).fill(-1);
  for (let i = 0; i < keys.length; i++) {
    if (positions[2 * i] === UNPLACED) continue;
    const key = keys[i];
    const dx = positions[2 * i] - x[key];
    const dy = positions[2 * i + 1] - y[key];
    const distance = dx * dx + dy * dy;
    if (distance >= far[key]) continue;
    far[key] = distance;
    best[key] = i;
  }
  return Array.from(best, (i) => (i < 0 ? null : [positions[2 * i], positions[2 * i + 1]]));
}

/**
 * The same for nodes of a tree, from those of its leaves: the one nearest to the median of the leaves of a node, each
 * counted with its maps.
 */
export function nodeMiddles(
  leaves: ([number, number] | null)[],
  counts: ArrayLike<number>,
  nodes: { first_leaf: number; last_leaf: number }[],
): ([number, number] | null)[] {
  return nodes.map(({ first_leaf, last_leaf }) => {
    const points: { at: [number, number]; maps: number }[] = [];
    for (let leaf = first_leaf; leaf <= last_leaf; leaf++) {
      const at = leaves[leaf];
      if (at) points.push({ at, maps: counts[leaf] });
    }
    const total = points.reduce((sum, { maps }) => sum + maps, 0);
    const [x, y] = [0, 1].map((axis) => {
      let sum = 0;
      const sorted = [...points].sort((a, b) => a.at[axis] - b.at[axis]);
      return sorted.find(({ maps }) => 2 * (sum += maps) >= total)?.at[axis] ?? 0;
    });
    const far = ({ at }: { at: [number, number] }) => (at[0] - x) ** 2 + (at[1] - y) ** 2;
    return points.sort((a, b) => far(a) - far(b))[0]?.at ?? null;
  });
}

/** The maps nearest to a position, nearest first. */
export function nearest(
  positions: Uint16Array,
  selected: Uint32Array | null,
  [x, y]: [number, number],
  most: number,
  except = -1,
): number[] {
  const best: { index: number; far: number }[] = [];
  const total = selected?.length ?? positions.length >> 1;
  for (let k = 0; k < total; k++) {
    const index = selected ? selected[k] : k;
    if (index === except || positions[2 * index] === UNPLACED) continue;
    const far = (positions[2 * index] - x) ** 2 + (positions[2 * index + 1] - y) ** 2;
    if (best.length === most && far >= best[most - 1].far) continue;
    let at = best.length;
    while (at > 0 && best[at - 1].far > far) at--;
    best.splice(at, 0, { index, far });
    if (best.length > most) best.pop();
  }
  return best.map((map) => map.index);
}

/** A reproducible random sample of maps, without those in `except`. */
export function drawn(maps: Uint32Array, most: number, except: number[] = []): number[] {
  const out: number[] = [];
  let seed = maps.length;
  for (let tries = 0; tries < 8 * most && out.length < most && maps.length; tries++) {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    const index = maps[Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * maps.length)];
    if (!out.includes(index) && !except.includes(index)) out.push(index);
  }
  return out;
}
