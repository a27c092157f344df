// Examples in words: which heads treat them unlike others.
import { RARE } from "../../generated/thresholds";
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { capitalize, count, joinList, percent, plural } from "./numbers";

const NAMED = 3; // so that the sentence stays on one line

/** The message if there are too few examples to tell which heads treat an example unlike others. */
export const tooFewExamples = (examples: number, what: string) =>
  `With ${plural(examples, what)} no cluster can hold less than ${percent(RARE)} of a head’s ${what}s: this needs more than ${count(Math.round(1 / RARE))}.`;

export interface ExampleFacts {
  number: number;
  examples: number;
  heads: number;
  modality: string;
  rare: (HeadRef & { share: number })[] | null; // heads that treat it unlike others; null: not known
}

export function exampleSentence({ number, examples, heads, modality: what, rare }: ExampleFacts): string {
  if (!rare) return `${capitalize(what)} ${number} of ${count(examples)}, seen by ${plural(heads, "head")}.`;
  if (!rare.length)
    return `No head treats this ${what} unlike others: each of ${count(heads)} does what it does on at least ${percent(RARE)} of ${what}s.`;
  const names = rare
    .slice(0, NAMED)
    .map(
      (head, at) =>
        `${headName(head)} (as ${at === 0 ? "on " : ""}${percent(head.share)}${at === 0 ? ` of ${what}s` : ""})`,
    );
  const rest = rare.length - NAMED;
  const treat = rare.length === 1 ? "treats" : "treat";
  return `${count(rare.length)} of ${plural(heads, "head")} ${treat} this ${what} unlike others: ${joinList([...names, ...(rest > 0 ? [`${rest} more`] : [])])}.`;
}

export const TRY = "Custom text, on the live model.";

/** What stands out in a custom text: the token that gets most attention. */
export const trySentence = (tokens: number, heads: HeadRef[], share: number, token: string) =>
  `On your text of ${plural(tokens, "token")}, ${heads.length === 1 ? `${headName(heads[0])} gives` : `${count(heads.length)} heads together give`} ${percent(share)} of attention to “${token}”.`;

export interface ListFacts {
  shown: number;
  examples: number;
  heads: number;
  modality: string;
  /** Examples that some head treats unlike others, and the one for which most heads do so; null: not known. */
  unlike: { examples: number; best: string; heads: number } | "too few" | null;
}

export function listSentence({ shown, examples, heads, modality: what, unlike }: ListFacts): string {
  const all = plural(examples, what);
  const part = shown < examples ? `${count(shown)} of ${all} shown; ` : `${all}; `;
  if (unlike === null) return `${part}open one to see what every head does on it.`;
  if (unlike === "too few") return `${part}too few to tell which of them heads treat unlike others.`;
  if (!unlike.examples) return `${part}no head treats any of them unlike the others.`;
  const are = `${shown < examples ? "of all " : ""}${unlike.examples === 1 ? "is" : "are"}`;
  return `${part}${count(unlike.examples)} ${are} treated unlike others by some head, most of all “${unlike.best}”, by ${count(unlike.heads)} of ${count(heads)}.`;
}

export interface DataFacts {
  noun: string;
  total: number;
  tokens: number[]; // of each example
  shown: number; // examples that pass all filters
  filters: { column: string; value: string }[];
}

export function dataSentence({ noun, total, tokens, shown, filters }: DataFacts): string {
  const [least, most] = tokens.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [Infinity, 0]);
  const length = least === most ? plural(most, "token") : `${count(least)} to ${plural(most, "token")}`;
  if (!filters.length) return `${plural(total, noun)}, ${length}${total === 1 ? "" : " each"}.`;
  const conditions = filters.map(({ column, value }) => `${column} ${value}`);
  return `${count(shown)} of ${plural(total, noun)}: ${joinList(conditions)}.`;
}
