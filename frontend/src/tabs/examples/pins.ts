// Pinned tokens: one or two of them, `token=4` or `token=4,9` in the URL. They are stored as tokens rather than units, so
// that they stay pinned when tokens are merged into words. A key of another text than the queries has a `k` before it.
import type { Seen } from "./reduce";
import type { Focus } from "./tints";
import type { Unit } from "./tokens";

/** The units that the URL pins: the first and the second, null where there is none. */
export function readPins(text: string | undefined, seen: Seen): [Focus | null, Focus | null] {
  const [first, second] = (text ?? "").split(",").map((part) => readPin(part, seen));
  return first ? [first, second ?? null] : [null, null];
}

function readPin(text: string, seen: Seen): Focus | null {
  const match = /^(k?)(\d{1,6})$/.exec(text);
  if (!match) return null;
  const token = Number(match[2]);
  const [queries, keys] = [seen.queries, seen.keys].map((units) =>
    units.findIndex((unit) => unit.tokens.includes(token)),
  );
  const query = queries >= 0 && (seen.same || !match[1]) ? queries : null;
  const key = keys >= 0 && (seen.same || match[1]) ? keys : null;
  return query === null && key === null ? null : { query, key };
}

/** Pinned units as they are written in the URL. */
export const writePins = (seen: Seen, ...pins: Focus[]) => pins.map((pin) => writePin(seen, pin)).join(",");

const writePin = (seen: Seen, { query, key }: Focus) =>
  query !== null ? String(seen.queries[query].tokens[0]) : `k${seen.keys[key!].tokens[0]}`;

/** The pins after a click on a unit. With `more` it becomes, or stops being, the second one; null: none is left. */
export function togglePin(seen: Seen, [first, second]: (Focus | null)[], wanted: Focus, more: boolean): string | null {
  const pinned = (pin: Focus | null) => !!pin && writePin(seen, pin) === writePin(seen, wanted);
  const cell = wanted.query !== null && wanted.key !== null && !(seen.same && wanted.query === wanted.key);
  if (more && cell) return writePins(seen, { query: wanted.query, key: null }, { query: null, key: wanted.key });
  if (more && first && !pinned(first)) return writePins(seen, first, ...(pinned(second) ? [] : [wanted]));
  return pinned(first) ? null : writePins(seen, wanted);
}

const word = (unit: Unit) => unit.text.trim().toLowerCase();

/** Other mentions of the pinned word among the units that could be the second one, nearest first. */
export function mentions(seen: Seen, first: Focus): Focus[] {
  const from = first.query !== null ? seen.queries[first.query] : seen.keys[first.key!];
  const others = seen.same || first.query === null ? seen.queries : seen.keys;
  const at = first.query ?? first.key!;
  return others
    .flatMap((unit, i) => (word(unit) === word(from) && unit !== from ? [i] : []))
    .sort((a, b) => Math.abs(a - at) - Math.abs(b - at))
    .map((i) => asFocus(seen, first, i));
}

/** The unit with this number on the side where a second one can be. */
export const asFocus = (seen: Seen, first: Focus, unit: number): Focus =>
  seen.same
    ? { query: unit, key: unit }
    : first.query === null
      ? { query: unit, key: null }
      : { query: null, key: unit };
