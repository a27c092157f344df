// Points for tests: clusters of different sizes, some background, and some maps that do not exist.
import { TOP, UNPLACED } from "../lib/encoding";

/** A reproducible random generator of numbers from 0 to 1 (mulberry32). */
export function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Positions of `count` points; every hundredth is unplaced. */
export function cloud(count: number, seed = 1): Uint16Array {
  const next = random(seed);
  const positions = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    const cluster = i % 8;
    const [x, y] = [8_000 * (1 + (cluster % 3) * 2), 9_000 * (1 + Math.floor(cluster / 3) * 2)];
    const spread = cluster === 7 ? 60_000 : 1_500 * (1 + cluster);
    for (const [axis, center] of [x, y].entries()) {
      const value = center + (next() + next() + next() - 1.5) * spread;
      positions[2 * i + axis] = i % 100 === 99 ? UNPLACED : Math.min(TOP, Math.max(0, Math.round(value)));
    }
  }
  return positions;
}
