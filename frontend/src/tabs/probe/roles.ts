// Roles of heads: which heads have one, how roles are colored, and what the numbers of each table are called.
import type { RoleCard, Roles } from "../../lib/api";
import { amount, count, percent, plural, signed } from "../../lib/wording";

export interface RankedHead {
  layer: number;
  head: number;
  value: number;
  low: number | null;
  high: number | null;
  reference: number | null;
  effect: number;
  q: number | null;
  marked: boolean;
}

interface Words {
  title: string;
  value: string;
  reference: string;
  effect: string;
  marked: string; // of a head with a dot
  format: (value: number | null | undefined) => string;
  help: (roles: Roles) => string;
}

const WORDS: Record<string, Words> = {
  probe_detect: {
    title: "Heads of each role",
    value: "Attention",
    reference: "By chance",
    effect: "Attention above chance",
    marked: "the head has the role",
    format: percent,
    help: ({ least_effect, false_rate }) =>
      `Color: the attention of a head to the keys that define a role, less what chance gives. A head has the role if it is at least ${amount(least_effect)} above chance, and q < ${amount(false_rate)} over all heads and roles.`,
  },
  probe_parking: {
    title: "Where heads rest that have nothing to do",
    value: "Difference",
    reference: "Other heads",
    effect: "Difference above chance",
    marked: "the head has the role, and rests more where it does not apply",
    format: signed,
    help: ({ false_rate }) =>
      `Color: attention to separators, or to the first token, from tokens that have no key of a role, less that from tokens that have one, above chance. Dots: heads with the role where this is above 0, and above that of other heads of their layer (q < ${amount(false_rate)}).`,
  },
};

export const wordsOf = (table: string): Words => WORDS[table] ?? WORDS.probe_detect;

/** The number of heads that are marked. */
export const marks = (role: RoleCard) => role.marked.flat().filter(Boolean).length;

/** How many heads are marked, and of how many that have the role, if these are more. */
export function marksOf(role: RoleCard): string {
  const marked = marks(role);
  return role.having > marked ? `${count(marked)} of ${plural(role.having, "head")}` : plural(marked, "head");
}

/** All heads for which a role is defined, the strongest first. */
export function ranked(role: RoleCard): RankedHead[] {
  const heads = role.effect.flatMap((row, layer) =>
    row.flatMap((effect, head) => {
      const value = role.value[layer][head];
      if (effect === null || value === null) return [];
      const [low, high, reference, q] = [role.low, role.high, role.reference, role.q].map((grid) => grid[layer][head]);
      return [{ layer, head, value, low, high, reference, effect, q, marked: role.marked[layer][head] }];
    }),
  );
  return heads.sort((a, b) => b.effect - a.effect);
}

/** The largest effect in either direction, of all roles: they have one scale. */
export const largest = (roles: RoleCard[]) =>
  Math.max(0.01, ...roles.flatMap(({ effect }) => effect.flat().map((value) => Math.abs(value ?? 0))));

/** Where an effect is on a diverging scale from 0 to 1, by its square root: 0.5 is no effect. */
export const place = (effect: number, most: number) =>
  0.5 + 0.5 * Math.sign(effect) * Math.sqrt(Math.min(1, Math.abs(effect) / most));

/** The role that is shown large: the one that was asked for, else the first that a head has. */
export const shownRole = (roles: RoleCard[], key: string | undefined) =>
  roles.find((role) => role.key === key) ?? roles.find((role) => marks(role) > 0) ?? roles[0];

/** The ends of an axis that holds all values, their intervals and what they are compared with. */
export function ends(heads: RankedHead[]): [number, number] {
  const values = heads.flatMap(({ value, low, high, reference }) => [value, low, high, reference]);
  const known = values.filter((value): value is number => value !== null);
  const step = (value: number) => Math.ceil(Math.abs(value) * 10 - 1e-9) / 10;
  const low = Math.min(0, ...known);
  return [low < -0.005 ? -step(low) : 0, Math.max(0.1, step(Math.max(0, ...known)))];
}
