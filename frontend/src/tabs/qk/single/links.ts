// The strongest keys of queries within their own example, as the server sends them: keys (query, rank), counted from the
// first token of the example, then their weights.
import { decodeAttention, UNKNOWN } from "../../../lib/encoding";
import type { EmbeddedTokens } from "../../../lib/api";
import { exampleOf } from "../tokens";

export interface Link {
  query: number; // a token
  key: number;
  weight: number; // attention
}

const MOST = 5; // links of a key

/** The strongest keys of a token's query, the strongest first. */
export function keysOf(buffer: Uint16Array, tokens: EmbeddedTokens, query: number): Link[] {
  const total = tokens.example.length;
  const ranks = buffer.length / (2 * total);
  const [first] = exampleOf(tokens, query);
  return Array.from({ length: ranks }, (_, rank) => query * ranks + rank)
    .filter((at) => buffer[at] !== UNKNOWN)
    .map((at) => ({ query, key: first + buffer[at], weight: decodeAttention(buffer[total * ranks + at]) }));
}

/** The queries that have a token's key among their strongest, the strongest first. */
export function queriesOf(buffer: Uint16Array, tokens: EmbeddedTokens, key: number): Link[] {
  const [first, end] = exampleOf(tokens, key);
  return Array.from({ length: end - first }, (_, at) => keysOf(buffer, tokens, first + at))
    .flat()
    .filter((link) => link.key === key)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST);
}
