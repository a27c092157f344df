// Cells of a grid that are colored by an amount.
import { scaleColor, textColorOn, type Scale } from "../../lib/palette";
import type { Pen } from "../../lib/pen";
import { amount } from "../../lib/wording";
import type { Layout } from "./layout";
import type { Look } from "./sheet";

export interface Amounts {
  kind: "amount";
  label: string;
  unit: string;
  values: (number | null)[]; // in the order of the heads
  low: number;
  high: number;
  scale: Scale;
}
type Named = Pick<Amounts, "label" | "unit" | "values">;

const isKnown = (value: number | null): value is number => value !== null;

/** Amounts with a scale from the smallest to the largest; values of both signs get one that is centered at zero. */
export function amountsOf(named: Named): Amounts | null {
  const known = named.values.filter(isKnown);
  if (!known.length) return null;
  let [low, high] = [Infinity, -Infinity];
  for (const value of known) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low < 0 && high > 0) return differencesOf(named);
  return { kind: "amount", ...named, low, high, scale: "amounts" };
}

/** Differences with a scale that is centered at zero. */
export function differencesOf(named: Named): Amounts | null {
  const known = named.values.filter(isKnown);
  if (!known.length) return null;
  const widest = known.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return { kind: "amount", ...named, low: -widest, high: widest, scale: "differences" };
}

/** Where a value lies on its scale, 0 to 1. */
export const onScale = (amounts: Pick<Amounts, "low" | "high">, value: number) =>
  amounts.high > amounts.low ? (value - amounts.low) / (amounts.high - amounts.low) : 0.5;

/** The width of a colored frame around a map; it stays within the gap. */
export const frameOf = ({ gap, ratio }: Layout) =>
  Math.max(1, Math.min(Math.round(2 * ratio), Math.floor((gap - 1) / 2)));

/** A frame around a map in the color of its amount, with the number below it where there is room. */
export function amountCard(pen: Pen, amounts: Amounts, at: number, look: Look, layout: Layout) {
  const { map, strip, ratio } = layout;
  const [x, y, value] = [layout.x[at], layout.y[at], amounts.values[at]];
  const frame = frameOf(layout);
  const share = value === null ? 0 : onScale(amounts, value);
  pen.fillStyle = value === null ? look.track : scaleColor(amounts.scale, look.theme, share);
  pen.fillRect(x - frame, y - frame, map + 2 * frame, map + Math.round(2 * ratio) + strip + frame);
  if (strip < 12 * ratio) return;
  pen.fillStyle = value === null ? look.muted : textColorOn(amounts.scale, look.theme, share);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(amount(value), x + map / 2, y + map + (Math.round(2 * ratio) + strip) / 2 + 0.5 * ratio);
}

/** The font of the numbers below maps. */
export const cellFont = ({ map, ratio }: Layout, look: Look) =>
  `${(map > 160 * ratio ? 14 : 10.5) * ratio}px ${look.font}`;
