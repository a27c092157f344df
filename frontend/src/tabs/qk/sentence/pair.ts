// Which query and key are looked at: what is pinned, what the pointer is at, or the strongest key.
import { rowOf } from "../../examples/arcs";
import type { Seen } from "../../examples/reduce";
import type { Focus } from "../../examples/tints";

export interface Pair {
  query: number; // a row of the map
  key: number; // a column
}

export const strongestOf = (values: ArrayLike<number>) => {
  let best = 0;
  for (let at = 1; at < values.length; at++) if (values[at] > values[best]) best = at;
  return best;
};

const strongestKey = (seen: Seen, query: number) => strongestOf(rowOf(seen.values, seen.columns, query));
const strongestQuery = (seen: Seen, key: number) =>
  strongestOf(Array.from({ length: seen.rows }, (_, query) => seen.values[query * seen.columns + key]));

/**
 * The pair to show. The first pinned token is the query, the second the key; the token pointed at takes the place of the
 * key. Where only one side is known, the other is the strongest. Null: the map is empty.
 */
export function pairOf(
  seen: Seen,
  [first, second]: (Focus | null)[],
  hover: Focus | null,
  keyOnly = false,
): Pair | null {
  if (!seen.rows || !seen.columns) return null;
  const pinned = [first, second].filter((pin) => pin !== null);
  const query = keyOnly ? null : (pinned.find((pin) => pin.query !== null)?.query ?? null);
  const other = pinned.find((pin) => pin.key !== null && (!seen.same || pin !== first))?.key ?? null;
  const key = keyOnly ? (first?.key ?? null) : other;
  if (hover) {
    if (query !== null && hover.key !== null) return { query, key: hover.key };
    if (hover.query !== null) return { query: hover.query, key: strongestKey(seen, hover.query) };
    if (hover.key !== null) return { query: strongestQuery(seen, hover.key), key: hover.key };
  }
  if (query !== null) return { query, key: key ?? strongestKey(seen, query) };
  if (key !== null) return { query: strongestQuery(seen, key), key };
  const best = strongestOf(seen.values);
  return { query: Math.floor(best / seen.columns), key: best % seen.columns };
}

/** Attention weighted by the norms of the values that it moves: a_ij · |v_j|. */
export function weighted(seen: Seen, norms: Float32Array): Seen {
  const values = seen.values.map((value, at) => {
    const norm = norms[seen.keys[at % seen.columns].tokens[0]];
    return Number.isFinite(norm) ? value * norm : 0;
  });
  return { ...seen, values };
}
