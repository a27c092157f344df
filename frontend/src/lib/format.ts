// Numbers and names as text, with no more digits than are known. The Python package formats them in the same way.
import type { HeadRef } from "./selection.svelte";

export const THIN = "\u202f"; // narrow no-break space

/** `plural(1204, "map")` is 1,204 maps. */
export const plural = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export const count = (value: number) => value.toLocaleString("en");

/** A share as a percentage: 0 % and 100 % only if it is exactly that. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  if (share > 0 && share < 0.005) return `<${THIN}1${THIN}%`;
  if (share >= 0.995 && share < 1) return `>${THIN}99${THIN}%`;
  return `${Math.round(100 * share)}${THIN}%`;
}

/** A number with two or three significant digits. */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  let text: string;
  if (size === 0) text = "0";
  else if (size < 0.001) return value > 0 ? `<${THIN}0.001` : `>${THIN}−0.001`;
  else if (size >= 99.5) text = Math.round(value).toLocaleString("en");
  else if (size >= 9.95) text = value.toFixed(0);
  else if (size >= 0.995) text = value.toFixed(1);
  else if (size >= 0.01) text = value.toFixed(2);
  else text = Number(value.toPrecision(1)).toString();
  return text.replace("-", "−");
}

/** A number with its confidence interval. */
export const interval = (value: number | null, low: number | null, high: number | null) =>
  low === null || high === null ? amount(value) : `${amount(value)} [${amount(low)}, ${amount(high)}]`;

export const pValue = (p: number | null) =>
  p === null ? "–" : p < 0.001 ? `<${THIN}0.001` : p.toPrecision(2).replace(/\.?0+$/, "");

export const headName = ({ layer, head }: HeadRef) => `L${layer}·H${head}`;

/** `a, b and c`. */
export const joinList = (parts: string[]) =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;

/** Names of the three kinds of layers in encoder-decoder models. */
export const kindNames = { encoder: "input–input", decoder: "output–output", cross: "input–output" } as const;
