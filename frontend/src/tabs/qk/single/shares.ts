// How often each value occurs among some tokens, compared with all.

export interface Share {
  key: string;
  label: string;
  count: number;
  share: number;
  all: number; // how often it occurs among all
  baseline: number; // … as a share
}

/** The values of the selected, the most frequent first. */
export function shares(
  selected: Uint32Array,
  every: Uint32Array,
  valueOf: (token: number) => number,
  nameOf: (value: number) => string,
): Share[] {
  const tally = (tokens: Uint32Array) => {
    const counts = new Map<number, number>();
    for (const token of tokens) counts.set(valueOf(token), (counts.get(valueOf(token)) ?? 0) + 1);
    return counts;
  };
  const all = tally(every);
  return [...tally(selected)]
    .map(([value, count]) => ({
      key: String(value),
      label: nameOf(value),
      count,
      share: count / selected.length,
      all: all.get(value) ?? 0,
      baseline: (all.get(value) ?? 0) / Math.max(1, every.length),
    }))
    .sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
}
