// The tokens that are drawn, and points: of N tokens, point p < N is the query of token p, and N + p is its key.
import type { EmbeddedTokens } from "../../lib/api";
import { fold } from "../../lib/search";

export type Role = "query" | "key";

export const tokenOf = (point: number, tokens: number) => point % tokens;
export const roleOf = (point: number, tokens: number): Role => (point < tokens ? "query" : "key");

/** The text of a token as the page shows it: without the space that some tokenizers put before a word. */
export const shownText = (text: string) => text.trim() || "␣";

/** The tokens of the example of a token: the first, and the one after the last. */
export function exampleOf({ example }: Pick<EmbeddedTokens, "example">, token: number): [first: number, end: number] {
  let [first, end] = [token, token + 1];
  while (first > 0 && example[first - 1] === example[token]) first--;
  while (end < example.length && example[end] === example[token]) end++;
  return [first, end];
}

export interface Found {
  tokens: Uint32Array; // every occurrence, in order
  examples: number; // in which they occur
  texts: { text: string; count: number }[]; // the different tokens that match, the most frequent first
}

/**
 * Every occurrence of a token: equal to the query as all searches of the page compare, or, with `part`, containing it.
 * Null without a query.
 */
export function findTokens(tokens: EmbeddedTokens, query: string, part = false): Found | null {
  const wanted = fold(query.trim());
  if (!wanted) return null;
  const matching = tokens.texts.map((text) => {
    const folded = fold(text.trim());
    return part ? folded.includes(wanted) : folded === wanted;
  });
  const found: number[] = [];
  const counts = new Map<number, number>();
  const examples = new Set<number>();
  tokens.text.forEach((text, token) => {
    if (!matching[text]) return;
    found.push(token);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    examples.add(tokens.example[token]);
  });
  const texts = [...counts]
    .map(([text, count]) => ({ text: shownText(tokens.texts[text]), count }))
    .sort((a, b) => b.count - a.count || a.text.localeCompare(b.text));
  return { tokens: Uint32Array.from(found), examples: examples.size, texts };
}
