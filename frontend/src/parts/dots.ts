// Dots of many heads on one line. Those that would lie within half a pixel are one dot, as dark as they are together.
const FAINT = 0.45; // the opacity of a single dot

export function dotsOf(
  values: { value: number }[],
  place: (value: number) => number,
): { at: number; opacity: number }[] {
  const counts = new Map<number, number>();
  for (const { value } of values) {
    const at = Math.round(2 * place(value)) / 2;
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return [...counts].map(([at, count]) => ({ at, opacity: Math.round(1000 * (1 - (1 - FAINT) ** count)) / 1000 }));
}
