// Examples in words: which heads treat them unlike others, and why.
import type { UnlikeHead } from "../api";
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { amount, capitalize, columnName, count, joinList, percent, plural } from "./numbers";

const NAMED = 3; // so that the sentence stays on one line

/** What it means that a head treats an example unlike others, for help texts. */
export const unlikeHelp = (rare: number, what: string) =>
  `A head treats a ${what} unlike others if its map there, as a vector, is farther from the mean of its maps than on ${percent(1 - rare)} of its ${what}s. So each head treats ${percent(rare)} of all ${what}s unlike others; what tells is how many heads agree on a ${what}, compared with the number expected by chance.`;

/** The message if there are too few examples to tell which heads treat an example unlike others. */
export const tooFewExamples = (examples: number, what: string, rare: number) =>
  `With ${plural(examples, what)} none is among the most unusual ${percent(rare)}: this needs at least ${count(Math.round(1 / rare))}.`;

/** How many heads treat an example unlike others by chance. */
export const byChance = (expected: number) =>
  `${expected < 10 ? expected.toFixed(1) : count(Math.round(expected))} expected by chance`;

/** The pattern of a head here, and its usual one. */
export const patternHere = (here: string, usual: string, share: number) =>
  here === usual ? `“${here}”, as usual` : `“${here}”, usually “${usual}” (${percent(share)})`;

/** A statistic of a head here, and its usual value. */
export const unusualStatistic = ({ plain, value, usual }: UnlikeHead["statistics"][number]) =>
  `${plain} ${amount(value)}, usually ${amount(usual)}`;

/** Other examples with the same value of a column that a head treats unlike others, too. */
export const sharedValue = ({ column, value, others, unlike }: NonNullable<UnlikeHead["value"]>, what: string) =>
  `as on ${count(unlike)} of ${count(others)} other ${what}s with ${columnName(column)} = ${value}`;

export interface ExampleFacts {
  number: number;
  examples: number;
  heads: number;
  modality: string;
  unlike: HeadRef[] | null; // heads that treat it unlike others, the most unusual first; null: not known
  expected: number;
}

export function exampleSentence({ number, examples, heads, modality: what, unlike, expected }: ExampleFacts): string {
  const which = examples === 1 ? `One ${what}` : `${capitalize(what)} ${number} of ${count(examples)}`;
  if (!unlike) return `${which}, seen by ${plural(heads, "head")}.`;
  if (!unlike.length) return `No head treats this ${what} unlike others; ${byChance(expected)}.`;
  const rest = unlike.length - NAMED;
  const names = joinList([...unlike.slice(0, NAMED).map(headName), ...(rest > 0 ? [`${rest} more`] : [])]);
  const treat = unlike.length === 1 ? "treats" : "treat";
  return `${count(unlike.length)} of ${plural(heads, "head")} ${treat} this ${what} unlike others, ${byChance(expected)}: ${names}.`;
}

export const TRY = "Custom text, on the live model.";

/** What stands out in a custom text: the token that gets most attention. */
export const trySentence = (tokens: number, heads: HeadRef[], share: number, token: string) =>
  `On your text of ${plural(tokens, "token")}, ${heads.length === 1 ? `${headName(heads[0])} gives` : `${count(heads.length)} heads together give`} ${percent(share)} of attention to “${token}”.`;

/** The most frequent patterns of the heads on a custom text; `patterns` are names and numbers of heads, largest first. */
export function patternsSentence(tokens: number, heads: number, patterns: [name: string, heads: number][]): string {
  const parts = patterns
    .slice(0, NAMED)
    .map(([name, size], i) => `${i === 0 ? `${count(size)} of ${plural(heads, "head")} show` : count(size)} “${name}”`);
  const rest = patterns.slice(NAMED);
  const others = rest.reduce((sum, [, size]) => sum + size, 0);
  if (rest.length === 1) parts.push(`${count(others)} “${rest[0][0]}”`);
  else if (rest.length) parts.push(`${count(others)} one of ${count(rest.length)} others`);
  return `On your text of ${plural(tokens, "token")}, ${joinList(parts)}.`;
}

/** How many maps of a custom text are farther from their pattern than most of its maps in the atlas. */
export const farMaps = (far: number) =>
  `${plural(far, "map")} ${far === 1 ? "is" : "are"} farther from the center of the pattern than 95% of its maps in the atlas.`;

export interface ListFacts {
  shown: number;
  examples: number;
  heads: number;
  modality: string;
  /** The example that most heads treat unlike others, how many do, and how many would by chance; null: not known. */
  unlike: { best: string; heads: number; expected: number } | "too few" | null;
}

export function listSentence({ shown, examples, heads, modality: what, unlike }: ListFacts): string {
  const all = plural(examples, what);
  const part = shown < examples ? `${count(shown)} of ${all} shown; ` : `${all}; `;
  if (unlike === null) return `${part}open one to see what every head does on it.`;
  if (unlike === "too few") return `${part}too few to tell which of them heads treat unlike others.`;
  if (!unlike.heads) return `${part}no head treats any of them unlike the others.`;
  return `${part}“${unlike.best}” is treated unlike others by the most heads: ${count(unlike.heads)} of ${count(heads)}, ${byChance(unlike.expected)}.`;
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
