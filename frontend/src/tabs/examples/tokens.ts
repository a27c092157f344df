// How tokens are written: shortened to fit, with visible whitespace and in the right text direction.
import type { Token } from "../../lib/api";

/** What is drawn as one item: a token, a word of several tokens, or a bin of a pooled map. */
export interface Unit {
  text: string;
  tokens: number[]; // indices in the example
  special: boolean;
  segment: number;
  space: boolean; // whether a space goes before it in running text
}

const BLANKS: Record<string, string> = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽" };
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** At most `most` characters; an ellipsis marks the cut. */
export function short(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = Array.from(text.slice(0, 2 * most + 2)); // surrogate pairs stay together
  return characters.length <= most && text.length <= 2 * most + 2 ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/** A token as displayed: trimmed, whitespace as symbols, and without characters that change the text direction. */
export function shown(text: string, most = 32): string {
  const cut = text.length > 4 * most + 8 ? text.slice(0, 4 * most + 8) : text;
  const visible =
    cut.trim() === "" ? Array.from(cut, (character) => BLANKS[character] ?? "␣").join("") || "∅" : cut.trim();
  const clean = visible.replace(CONTROLS, (character) => BLANKS[character] ?? "�");
  return cut.length < text.length
    ? `${Array.from(clean)
        .slice(0, most - 1)
        .join("")}…`
    : short(clean, most);
}

/** The direction of running text: that of its first letter. */
export function direction(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text.slice(0, 2000));
  return letter && RTL.test(letter[0]) ? "rtl" : "ltr";
}

/** A word piece without its continuation prefix. */
export const bare = (text: string) => (text.startsWith("##") && text.length > 2 ? text.slice(2) : text);

/** Whether a space goes before each token: from the tokens themselves, or from where words begin. */
export function spaces(tokens: Token[]): boolean[] {
  const spaced = tokens.some((token) => !token.special && /^\s/.test(token.text) && token.text.trim() !== "");
  return tokens.map((token, i) => {
    const last = tokens[i - 1];
    if (!last) return false;
    if (token.special || last.special) return true;
    if (spaced) return /^\s/.test(token.text);
    if (token.word === last.word && token.word >= 0) return false;
    return !token.text.startsWith("##") && !/^[.,;:!?)\]}%’”]+$/.test(token.text);
  });
}

/** One unit per token. */
export function tokenUnits(tokens: Token[]): Unit[] {
  const space = spaces(tokens);
  return tokens.map((token, i) => ({
    text: token.text,
    tokens: [i],
    special: token.special,
    segment: token.segment,
    space: space[i],
  }));
}

/** Merge consecutive units of one word; the others stay. */
export function wordUnits(units: Unit[], tokens: Token[]): { units: Unit[]; parts: number[][] } {
  const joined: Unit[] = [];
  const parts: number[][] = [];
  let word = -1;
  units.forEach((unit, i) => {
    const token = tokens[unit.tokens[0]];
    const last = joined[joined.length - 1];
    const same =
      last && !unit.special && !last.special && token.word >= 0 && token.word === word && last.segment === unit.segment;
    if (same) {
      last.text += bare(unit.text);
      last.tokens.push(...unit.tokens);
      parts[parts.length - 1].push(i);
    } else {
      joined.push({ ...unit, tokens: [...unit.tokens] });
      parts.push([i]);
    }
    word = token.word;
  });
  return { units: joined, parts };
}

/** A unit in running text, without continuation prefixes. */
export const running = (unit: Unit) => shown(unit.special ? unit.text : bare(unit.text), 80);
