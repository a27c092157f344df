// Arcs of several heads in one figure, one hue per head.
import { CATEGORIES } from "../../lib/palette";
import { headKey, type HeadRef } from "../../lib/selection.svelte";
import { strongest, type Arc } from "./arcs";
import type { Seen } from "./reduce";

export const MOST_HUES = 8; // heads that are told apart by their hue
const APART = 2; // pixels between arcs of two heads that join the same tokens

/** A head with its hue; hidden heads keep theirs. */
export interface Hue {
  place: HeadRef;
  color: string;
  hidden: boolean;
}

/** The hues of some heads; `hide` lists those that are hidden, as in the URL. */
export function huesOf(heads: HeadRef[], hide: string | undefined): Hue[] {
  const hidden = new Set((hide ?? "").split(","));
  return heads.map((place, i) => ({
    place,
    color: CATEGORIES[i % MOST_HUES],
    hidden: hidden.has(headKey(place)),
  }));
}

/** The list of hidden heads after one is hidden or shown; null: none is. */
export function toggleHidden(hues: Hue[], place: HeadRef): string | null {
  const rest = hues.filter((hue) => hue.hidden !== (headKey(hue.place) === headKey(place)));
  return rest.map((hue) => headKey(hue.place)).join(",") || null;
}

/** Arcs of the heads that are not hidden, in their hues and slightly apart; the weakest first. */
export function coloredArcs(maps: Seen[], hues: Hue[], least: number): Arc[] {
  return hues
    .flatMap(({ color, hidden }, i) =>
      hidden
        ? []
        : strongest(maps[i].values, maps[i].columns, least).map((arc) => ({
            ...arc,
            color,
            shift: APART * (i - (hues.length - 1) / 2),
          })),
    )
    .sort((a, b) => a.value - b.value);
}

/** All values of several maps, for the default limit. */
export function joined(maps: Seen[]): Float32Array {
  const out = new Float32Array(maps.reduce((sum, { values }) => sum + values.length, 0));
  let at = 0;
  for (const { values } of maps) {
    out.set(values, at);
    at += values.length;
  }
  return out;
}
