// The dots of a strip plot. Dots within half a pixel become one, as dark as they are together.
const OPACITY = 0.45; // of a single dot

export function stackedDots(
  values: { value: number }[],
  scale: (value: number) => number,
): { x: number; opacity: number }[] {
  const counts = new Map<number, number>();
  for (const { value } of values) {
    const x = Math.round(2 * scale(value)) / 2;
    counts.set(x, (counts.get(x) ?? 0) + 1);
  }
  return [...counts].map(([x, count]) => ({ x, opacity: Math.round(1000 * (1 - (1 - OPACITY) ** count)) / 1000 }));
}
