// Heads as points of a square figure.

/** Points scaled by one factor to a square with a margin, y upwards. */
export function fitPoints(
  points: { x: number; y: number }[],
  size: number,
  margin: number,
): { x: number; y: number }[] {
  if (!points.length) return [];
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = (size - 2 * margin) / (Math.max(right - left, top - bottom) || 1);
  return points.map(({ x, y }) => ({
    x: size / 2 + (x - (left + right) / 2) * scale,
    y: size / 2 - (y - (bottom + top) / 2) * scale,
  }));
}

/** The rows of a matrix of distances that are nearest to one. */
export function nearest(matrix: (number | null)[][], row: number, most: number): number[] {
  return (matrix[row] ?? [])
    .map((distance, other) => ({ distance, other }))
    .filter(({ distance, other }) => other !== row && distance !== null)
    .sort((a, b) => a.distance! - b.distance! || a.other - b.other)
    .slice(0, most)
    .map(({ other }) => other);
}
