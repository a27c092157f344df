// Attention of one head in words: on a pair of tokens, on the patches of an image, and on average.
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { amount, estimate, joinList, percent, plural } from "./numbers";

/** Why a query attends to a key: `On text 3, “it” attends to “cat” in L2·H9 with 0.42: score 4.3, most of it from …`. */
export function readerSentence(facts: {
  place: HeadRef;
  number: number;
  modality: string;
  query: string;
  key: string | null; // null: the query itself
  weight: number;
  score: number | null;
  dimensions: number[]; // with the largest products
}): string {
  const { place, number, modality, query, key, weight, score, dimensions } = facts;
  const named = (name: string) => (modality === "image" ? name : `“${name}”`); // patches have names, not texts
  const target = key === null ? "itself" : named(key);
  const start = `On ${modality} ${number}, ${named(query)} attends to ${target} in ${headName(place)} with ${amount(weight)}`;
  if (score === null) return `${start}.`;
  const from = dimensions.length
    ? `, most of it from dimension${dimensions.length > 1 ? "s" : ""} ${joinList(dimensions.map(String))}`
    : "";
  return `${start}: score ${amount(score)}${from}.`;
}

type Shares = { itself: number; beside: number; farther: number; special: number };

const EXCESS = 0.1; // of attention: more than even attention would give, for a sentence to name where it goes

/**
 * Where the attention of the patches of an image goes, more than if it were even; null: only the pooled map is known.
 * `On image 5, patches in L2·H9 give 41% of their attention to patches next to them; even attention would give 10%.`
 */
export function flowSentence(facts: {
  place: HeadRef;
  number: number;
  shares: Shares | null;
  even: Shares | null;
  special: string[]; // names of the special tokens
}): string {
  const { place, number, shares, even, special } = facts;
  if (!shares || !even) return `Of ${headName(place)} on image ${number}, only the pooled map is known.`;
  const names: Record<keyof Shares, string> = {
    itself: "themselves",
    beside: "patches next to them",
    farther: "patches farther away",
    special: special.length === 1 ? special[0] : "special tokens",
  };
  const excess = (name: keyof Shares) => shares[name] - even[name];
  const most = (Object.keys(names) as (keyof Shares)[]).reduce((best, name) =>
    excess(name) > excess(best) ? name : best,
  );
  const start = `On image ${number}, patches in ${headName(place)}`;
  const gives = (name: keyof Shares) => `${percent(shares[name])} of their attention to ${names[name]}`;
  const compared = (name: keyof Shares) => `; even attention would give ${percent(even[name])}.`;
  return excess(most) >= EXCESS
    ? `${start} give ${gives(most)}${compared(most)}`
    : `${start} look near and far alike: ${percent(shares.beside)} goes to ${names.beside}${compared("beside")}`;
}

const steps = (by: number, noun: string, before: string, after: string) =>
  by === 0 ? "" : `${plural(Math.abs(by), noun)} ${by < 0 ? before : after}`;

/** A distance from query to key, in tokens. */
export function offsetName(by: number): string {
  if (Math.abs(by) <= 1) return ["the previous token", "the token itself", "the next token"][by + 1];
  return `the token ${Math.abs(by)} ${by < 0 ? "back" : "ahead"}`;
}

/** A distance from query to key, in rows and columns of patches. */
export function patchOffsetName(down: number, across: number): string {
  const parts = [steps(down, "row", "up", "down"), steps(across, "column", "left", "right")].filter(Boolean);
  return parts.length ? `the patch ${parts.join(" and ")}` : "the patch itself";
}

/** What a head attends to most on average. */
export function averageSentence(facts: {
  place: HeadRef;
  examples: number;
  modality: string;
  best: { name: string; mean: number; low: number | null; high: number | null; even: number | null } | null;
}): string {
  const { place, examples, modality, best } = facts;
  const over = `On average over ${plural(examples, modality)}`;
  if (!best) return `${over}, ${headName(place)}: its mean map.`;
  const { name, mean, low, high, even } = best;
  const than = even === null ? "" : `; even attention would give ${amount(even)}`;
  return `${over}, ${headName(place)} attends most to ${name}: ${estimate(mean, low, high)}${than}.`;
}
