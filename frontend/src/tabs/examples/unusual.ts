// How many heads treat each example unlike others, from the column of how far maps are from what their heads usually do.
import { TOP, UNKNOWN } from "../../lib/encoding";

/** Whether there are so few examples that none can be among the most unusual ones of a head. */
export const tooFew = (examples: number, rare: number) => rare * examples < 1 - 1e-9;

/** For each example, the number of heads whose value is above 1; `grid` is the number of maps of an example. */
export function unlikeCounts(
  values: Uint16Array,
  { low, high }: { low: number | null; high: number | null },
  grid: number,
): Uint16Array {
  const [least, most] = [low ?? 0, high ?? 0];
  const one = most > least ? (TOP * (1 - least)) / (most - least) + 0.5 : TOP; // a value of 1 is at most this
  const counts = new Uint16Array(Math.floor(values.length / grid));
  for (let example = 0, at = 0; example < counts.length; example++)
    for (let place = 0; place < grid; place++, at++) if (values[at] > one && values[at] !== UNKNOWN) counts[example]++;
  return counts;
}

/** The number of heads that treat an example unlike others on average, which is the number expected by chance. */
export const expectedHeads = (counts: Uint16Array) =>
  counts.length ? counts.reduce((sum, heads) => sum + heads, 0) / counts.length : 0;

/** The example that most heads treat unlike others; of several the first. */
export function mostUnlike(counts: Uint16Array): { best: number; heads: number } {
  let best = 0;
  for (let example = 1; example < counts.length; example++) if (counts[example] > counts[best]) best = example;
  return { best, heads: counts[best] ?? 0 };
}
