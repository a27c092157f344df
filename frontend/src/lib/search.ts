// Searching examples by id and text.

/** Indices of the examples whose id or text contains the query; matching ids come first. */
export function matches(query: string, ids: string[], texts: string[], limit = Infinity): number[] {
  const needle = query.trim().toLowerCase();
  if (!needle) return [];
  const hits = new Set<number>(); // keeps the order of insertion
  for (const column of [ids, texts])
    for (let i = 0; i < column.length && hits.size < limit; i++)
      if (column[i].toLowerCase().includes(needle)) hits.add(i);
  return [...hits];
}
