// Numbers in a few ranges with about equally many numbers each.

export interface Ranges {
  names: string[]; // "12 – 40"
  keys: Uint16Array; // the range of each number; `names.length` if it is unknown
}

/** Up to four ranges, cut at the quartiles. */
export function quarters(numbers: readonly (number | null)[], format: (value: number) => string): Ranges {
  const known = numbers.filter((value) => value !== null).sort((a, b) => a - b);
  const cuts = [...new Set([0.25, 0.5, 0.75].map((share) => known[Math.floor(share * known.length)]))];
  const starts = cuts.filter((cut) => cut > known[0]);
  const rangeOf = (value: number) => starts.filter((start) => value >= start).length;
  const ends: [number, number][] = [];
  for (const value of known) {
    const range = rangeOf(value);
    ends[range] = [ends[range]?.[0] ?? value, value];
  }
  return {
    names: ends.map((both) => [...new Set(both.map(format))].join(" – ")),
    keys: Uint16Array.from(numbers, (value) => (value === null ? ends.length : rangeOf(value))),
  };
}
