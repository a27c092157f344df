// Searching examples by id and text.

/** Numbers of the examples whose id or text holds the words, ids first. */
export function matches(query: string, ids: string[], texts: string[], most = Infinity): number[] {
  const sought = query.trim().toLowerCase();
  if (!sought) return [];
  const found: number[] = [];
  const seen = new Set<number>();
  const add = (number: number) => {
    if (!seen.has(number)) found.push(number);
    seen.add(number);
  };
  for (let i = 0; i < ids.length && found.length < most; i++) if (ids[i].toLowerCase().includes(sought)) add(i);
  for (let i = 0; i < texts.length && found.length < most; i++) if (texts[i].toLowerCase().includes(sought)) add(i);
  return found;
}
