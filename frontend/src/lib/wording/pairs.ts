// Attention of one head in words: on a pair of tokens, on the patches of an image, and on average.
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { amount, count, estimate, joinList, percent, plural } from "./numbers";

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
  const target = key === null ? "itself" : `“${key}”`;
  const start = `On ${modality} ${number}, “${query}” attends to ${target} in ${headName(place)} with ${amount(weight)}`;
  if (score === null) return `${start}.`;
  const from = dimensions.length
    ? `, most of it from dimension${dimensions.length > 1 ? "s" : ""} ${joinList(dimensions.map(String))}`
    : "";
  return `${start}: score ${amount(score)}${from}.`;
}

/** Where the patches of an image look. */
export function flowSentence(facts: {
  place: HeadRef;
  number: number;
  patches: number;
  elsewhere: number; // look most at another patch
  itself: number;
  special: number;
}): string {
  const { place, number, patches, elsewhere, itself, special } = facts;
  const shares: [number, string][] = [
    [elsewhere, "at another patch"],
    [itself, "at themselves"],
    [special, "at a special token"],
  ];
  const [first, ...rest] = shares
    .filter(([looking]) => looking > 0)
    .map(([looking, where], at) => `${percent(looking / patches)}${at ? "" : " look most"} ${where}`);
  return `Of the ${count(patches)} patches of image ${number}, ${joinList([first, ...rest])} in ${headName(place)}.`;
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
