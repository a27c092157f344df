// Points near one another: the nearest of a point on the plot, and points far apart, which get labels.
import { UNPLACED } from "../../../lib/encoding";

/** The nearest points of a point, by positions with `dims` axes; nearest first. */
export function nearestOn(positions: Uint16Array, dims: number, point: number, count: number): number[] {
  const total = positions.length / dims;
  const distances = new Float64Array(total).fill(Infinity);
  if (positions[dims * point] === UNPLACED) return [];
  for (let i = 0; i < total; i++) {
    if (i === point || positions[dims * i] === UNPLACED) continue;
    let sum = 0;
    for (let axis = 0; axis < dims; axis++) sum += (positions[dims * i + axis] - positions[dims * point + axis]) ** 2;
    distances[i] = sum;
  }
  const order = Array.from(distances.keys()).filter((i) => distances[i] < Infinity);
  return order.sort((a, b) => distances[a] - distances[b] || a - b).slice(0, count);
}

/** Some of the candidates, far from one another: the first is the first candidate, each next the farthest from all. */
export function farApart(positions: Uint16Array, candidates: ArrayLike<number>, count: number): number[] {
  const placed = Array.from(candidates).filter((point) => positions[2 * point] !== UNPLACED);
  const gaps = new Float64Array(placed.length).fill(Infinity);
  const chosen: number[] = [];
  let next = 0;
  while (chosen.length < Math.min(count, placed.length)) {
    const point = placed[next];
    chosen.push(point);
    let farthest = -1;
    for (let k = 0; k < placed.length; k++) {
      const dx = positions[2 * placed[k]] - positions[2 * point];
      const dy = positions[2 * placed[k] + 1] - positions[2 * point + 1];
      gaps[k] = Math.min(gaps[k], dx * dx + dy * dy);
      if (gaps[k] > farthest) [farthest, next] = [gaps[k], k];
    }
    if (farthest <= 0) break; // all others are at the same places
  }
  return chosen;
}
