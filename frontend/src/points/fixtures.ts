// Points for tests: clusters of different sizes, some background, and some maps that do not exist.
import { TOP, UNPLACED } from "../lib/encoding";

/** Numbers from 0 to 1 that are the same every time (mulberry32). */
export function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Positions of `count` points; every hundredth has no place. */
export function cloud(count: number, seed = 1): Uint16Array {
  const next = random(seed);
  const positions = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    const cluster = i % 8;
    const [x, y] = [8_000 * (1 + (cluster % 3) * 2), 9_000 * (1 + Math.floor(cluster / 3) * 2)];
    const spread = cluster === 7 ? 60_000 : 1_500 * (1 + cluster);
    for (const [axis, middle] of [x, y].entries()) {
      const value = middle + (next() + next() + next() - 1.5) * spread;
      positions[2 * i + axis] = i % 100 === 99 ? UNPLACED : Math.min(TOP, Math.max(0, Math.round(value)));
    }
  }
  return positions;
}
