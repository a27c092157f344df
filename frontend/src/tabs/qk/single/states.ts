// How the points of one head are shown: picked ones in front, misplaced ones and all others faded.
import { decodeAmount, UNKNOWN } from "../../../lib/encoding";
import { DIMMED, NORMAL, SELECTED } from "../../../points/style";

const TRUST = { low: 0, high: 1 };

/** Whether each point has less trust than `least`. */
export const misplacedPoints = (trust: Uint16Array, least: number): Uint8Array =>
  Uint8Array.from(trust, (value) => Number(value !== UNKNOWN && decodeAmount(value, TRUST) < least));

/** The share of misplaced points among those that are drawn; null if none is. */
export function misplacedShare(trust: Uint16Array, least: number): number | null {
  const drawn = trust.reduce((sum, value) => sum + Number(value !== UNKNOWN), 0);
  return drawn ? misplacedPoints(trust, least).reduce((sum, flag) => sum + flag, 0) / drawn : null;
}

/** States of all points: those that are picked, if any are asked for, and those that are not misplaced, stand out. */
export function pointStates(total: number, picked: Uint32Array | null, misplaced: Uint8Array | null): Uint8Array {
  const states = new Uint8Array(total).fill(picked ? DIMMED : NORMAL);
  if (picked) for (const point of picked) states[point] = SELECTED;
  else if (misplaced) for (let point = 0; point < total; point++) if (misplaced[point]) states[point] = DIMMED;
  return states;
}

/** The points of tokens: their queries and keys. */
export function pointsOf(tokens: Uint32Array, total: number): Uint32Array {
  const points = new Uint32Array(2 * tokens.length);
  points.set(tokens);
  tokens.forEach((token, i) => (points[tokens.length + i] = total + token));
  return points;
}

/** The points that are in both lists, which rise. */
export function common(first: Uint32Array | null, second: Uint32Array | null): Uint32Array | null {
  if (!first || !second) return first ?? second;
  const known = new Set(second);
  return first.filter((point) => known.has(point));
}
