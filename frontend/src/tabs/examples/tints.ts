// The two tints for the token pointed at: tokens it attends to, and tokens that attend to it.
import { CATEGORIES, rgb, scaleColor } from "../../lib/palette";
import type { Theme } from "../../lib/theme.svelte";
import { columnOf, received, rowOf } from "./arcs";
import type { Seen } from "./reduce";

/** The target of the pointer: a query, a key, or both (a cell of the map, or a token that is both). */
export interface Focus {
  query: number | null;
  key: number | null;
}

/** Strengths from 0 to 1, proportional to attention, and the largest attention. */
export interface Strengths {
  shares: Float32Array;
  top: number;
  full: number; // the attention at full strength
}

const EVEN = 0.05; // attention spread evenly over many tokens stays pale

function strengths(values: Float32Array): Strengths {
  let top = 0;
  for (const value of values) if (value > top) top = value;
  const full = Math.max(top, EVEN);
  return { shares: Float32Array.from(values, (value) => Math.max(0, value) / full), top, full };
}

/** Tints of keys and queries. Without a focus, keys show their mean attention over all queries. */
export function tints(seen: Seen, focus: Focus | null): { at: Strengths | null; by: Strengths | null } {
  const { values, rows, columns } = seen;
  if (!rows || !columns) return { at: null, by: null };
  if (!focus) return { at: strengths(received(values, rows, columns)), by: null };
  return {
    at: focus.query === null ? null : strengths(rowOf(values, columns, focus.query)),
    by: focus.key === null ? null : strengths(columnOf(values, rows, columns, focus.key)),
  };
}

export const BY = CATEGORIES[3];
const [r, g, b] = rgb(BY);
/** The color of tokens that attend to the focus. */
export const byColor = (share: number) => `rgb(${r} ${g} ${b} / ${share < 0.04 ? 0 : share.toFixed(3)})`;

/** Pure black or white: nothing else is readable on the middle of the scale. */
function ink(color: string): string {
  const [red, green, blue] = color.match(/\d+/g)!.map((part) => (Number(part) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 ? "#ffffff" : "#000000";
}

const LEVELS = 64;
const grounds = new Map<Theme, { ground: string; ink: string }[]>();
/** Background and text color of a token the focus attends to. */
export function atColors(theme: Theme, share: number): { ground: string; ink: string } {
  if (!grounds.has(theme))
    grounds.set(
      theme,
      Array.from({ length: LEVELS + 1 }, (_, i) => ({
        ground: i === 0 ? "transparent" : scaleColor("maps", theme, i / LEVELS),
        ink: i === 0 ? "" : ink(scaleColor("maps", theme, i / LEVELS)),
      })),
    );
  return grounds.get(theme)![Math.round(LEVELS * Math.min(1, Math.max(0, share)))];
}
