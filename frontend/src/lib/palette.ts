// The colours of data, the same as in the figures of `headatlas plot` (a test compares them).
import type { Theme } from "./theme.svelte";

export type Rgb = [number, number, number];

export const CATEGORIES = [
  "#2673AF",
  "#E59F02",
  "#16A276",
  "#D45E03",
  "#53B6EF",
  "#C877A7",
  "#6F4DC2",
  "#ADA142",
  "#8C5B44",
  "#A22B58",
];
export const NOISE_GRAY: Record<Theme, string> = { light: "#b4bac4", dark: "#6b7280" };
const STEPS = ["#a9d9c4", "#62b4b7", "#358bab", "#2a5f98", "#263a78"];
export const SCALES = {
  amounts: { light: ["#f3f6f2", ...STEPS, "#191241"], dark: ["#1d2230", ...[...STEPS].reverse(), "#f3f7df"] },
  maps: { light: ["#f2f5f9", "#08306b"], dark: ["#1d222b", "#d7e6ff"] },
  differences: {
    light: ["#123f70", "#5a9ad0", "#f1f3f5", "#e08d5f", "#8a2f0d"],
    dark: ["#b5dbff", "#3f87c4", "#262c37", "#c46a3c", "#ffcdab"],
  },
} satisfies Record<string, Record<Theme, string[]>>;
export type Scale = keyof typeof SCALES;
export const MARKS = 4; // disc, ring, triangle, cross: the second mark of every further ten

export const rgb = (hex: string): Rgb => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;

/** The colour of a cluster or another category; what is below 0 is noise. */
export const categoryColor = (number: number, theme: Theme) =>
  number < 0 ? NOISE_GRAY[theme] : CATEGORIES[number % CATEGORIES.length];

/** Which second mark a category carries. */
export const categoryMark = (number: number) =>
  number < 0 ? 0 : Math.min(Math.floor(number / CATEGORIES.length), MARKS - 1);

/** 256 colours of a scale, as bytes r, g, b. */
export function ramp(scale: Scale, theme: Theme): Uint8Array {
  const stops = SCALES[scale][theme].map(rgb);
  const out = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(at));
    for (let c = 0; c < 3; c++) out[3 * i + c] = Math.round(stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (at - k));
  }
  return out;
}

const ramps = new Map<string, Uint8Array>();

/** The colour at `share` (0 to 1) of a scale. */
export function scaleColor(scale: Scale, theme: Theme, share: number): string {
  const key = scale + theme;
  if (!ramps.has(key)) ramps.set(key, ramp(scale, theme));
  const colors = ramps.get(key)!;
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  return `rgb(${colors[at]} ${colors[at + 1]} ${colors[at + 2]})`;
}

/** Black or white, whichever is read better on a colour of a scale. */
export function textColorOn(scale: Scale, theme: Theme, share: number): string {
  const [r, g, b] = scaleColor(scale, theme, share)
    .match(/\d+/g)!
    .map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.0575 ? "#ffffff" : "#14161b";
}
