// Where the patches of an image look, as arrows between patches.
import type { Seen } from "../../examples/reduce";
import { strongestOf } from "../sentence/pair";

export interface Arrow {
  from: number; // a unit of the map
  to: number;
  value: number;
}

/** Arrows between patches, the weakest first; patches that look at themselves, and those that look at a special token. */
export interface Flows {
  arrows: Arrow[];
  itself: Arrow[];
  special: Arrow[];
}

const MOST = 1500; // arrows that are drawn

/** Every weight of at least `least` between patches. */
export function allFlows(seen: Seen, least: number): Flows {
  return sorted(seen, (query) =>
    seen.keys.map((_, key) => key).filter((key) => seen.values[query * seen.columns + key] >= least),
  );
}

/** The strongest weight of every patch. */
export const strongestFlows = (seen: Seen): Flows =>
  sorted(seen, (query) => [strongestOf(seen.values.subarray(query * seen.columns, (query + 1) * seen.columns))]);

function sorted(seen: Seen, keysOf: (query: number) => number[]): Flows {
  const flows: Flows = { arrows: [], itself: [], special: [] };
  seen.queries.forEach((unit, from) => {
    if (unit.special) return;
    for (const to of keysOf(from)) {
      const arrow = { from, to, value: seen.values[from * seen.columns + to] };
      if (arrow.value > 0) flows[seen.keys[to].special ? "special" : from === to ? "itself" : "arrows"].push(arrow);
    }
  });
  flows.arrows.sort((a, b) => b.value - a.value);
  flows.arrows = flows.arrows.slice(0, MOST).reverse();
  return flows;
}

/** Where the attention of patches goes: mean shares, which sum to 1. */
export interface Destinations {
  itself: number;
  beside: number; // the up to eight patches around
  farther: number;
  special: number;
}

/** The mean over patches of what each gives to itself, to patches next to it, to others, and to special tokens. */
export function destinations(seen: Seen, { special, columns }: { special: unknown[]; columns: number }): Destinations {
  const placeOf = (unit: Seen["keys"][number]) => {
    const patch = unit.tokens[0] - special.length;
    return [Math.floor(patch / columns), patch % columns];
  };
  const sums: Destinations = { itself: 0, beside: 0, farther: 0, special: 0 };
  let total = 0;
  seen.queries.forEach((query, from) => {
    if (query.special) return;
    const [row, column] = placeOf(query);
    seen.keys.forEach((key, to) => {
      const [otherRow, otherColumn] = placeOf(key);
      const apart = Math.max(Math.abs(otherRow - row), Math.abs(otherColumn - column));
      const value = seen.values[from * seen.columns + to];
      sums[key.special ? "special" : apart === 0 ? "itself" : apart === 1 ? "beside" : "farther"] += value;
      total += value;
    });
  });
  for (const name of Object.keys(sums) as (keyof Destinations)[]) sums[name] /= total || 1;
  return sums;
}

/** The middle of a patch, as shares of the width and height of the picture; null: it is no patch. */
export function middleOf(
  token: number,
  { special, rows, columns }: { special: unknown[]; rows: number; columns: number },
): [x: number, y: number] | null {
  const patch = token - special.length;
  if (patch < 0 || patch >= rows * columns) return null;
  return [((patch % columns) + 0.5) / columns, (Math.floor(patch / columns) + 0.5) / rows];
}

/** A line with its head, from the middle of a patch to just before the middle of another. */
export function arrowShape(
  [x0, y0]: [number, number],
  [x1, y1]: [number, number],
  width: number,
): { line: string; head: string } {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  const size = 4 + 1.5 * width; // of the head
  const [bx, by] = [x1 - dx * size, y1 - dy * size];
  const point = (x: number, y: number) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const side = (sign: number) => point(bx - sign * dy * size * 0.5, by + sign * dx * size * 0.5);
  return { line: `M${point(x0, y0)}L${point(bx, by)}`, head: `M${point(x1, y1)}L${side(1)}L${side(-1)}Z` };
}
