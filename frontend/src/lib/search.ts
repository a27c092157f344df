// Searching: what counts as the same, and examples by id and text. Every search of the page folds texts with `fold`.

const ACCENTS = /[\u0300-\u036f]/g; // combining marks of Latin, Greek and Cyrillic; vowel signs of other scripts stay
const APOSTROPHES = /[‘’‚‛‹›`´ʼ＇]/g;
const QUOTATION_MARKS = /[“”„‟«»＂]/g;

/** A text as searches compare it: without case and accents, with straight quotation marks and apostrophes. */
export const fold = (text: string) =>
  text.normalize("NFD").replace(ACCENTS, "").replace(APOSTROPHES, "'").replace(QUOTATION_MARKS, '"').toLowerCase();

const folded = new WeakMap<readonly string[], string[]>();

/** Folded texts, cached so that repeated searches only scan. */
function foldAll(texts: readonly string[]): string[] {
  if (!folded.has(texts)) folded.set(texts, texts.map(fold));
  return folded.get(texts)!;
}

/** Indices of the examples whose id or text contains the query; matching ids come first. */
export function matches(query: string, ids: string[], texts: string[], limit = Infinity): number[] {
  const needle = fold(query.trim());
  if (!needle) return [];
  const hits = new Set<number>(); // keeps the order of insertion
  for (const column of [ids, texts]) {
    const all = foldAll(column);
    for (let i = 0; i < all.length && hits.size < limit; i++) if (all[i].includes(needle)) hits.add(i);
  }
  return [...hits];
}
