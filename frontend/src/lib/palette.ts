// Colors for data, the same as in the figures of `headatlas plot` (a test compares them).
import { shading } from "./shading.svelte";
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
/** The darkest and the lightest shade of each category: visible on light and on dark backgrounds. */
export const SHADES = [
  ["#03568C", "#57A1E0"],
  ["#906200", "#F0A921"],
  ["#007956", "#50CA9C"],
  ["#9A4304", "#FE8743"],
  ["#0272A3", "#5EC0FA"],
  ["#9E5180", "#F19DCE"],
  ["#5F3AAE", "#A588FE"],
  ["#786C02", "#C5B95B"],
  ["#764730", "#C48F77"],
  ["#992251", "#EF7299"],
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
/** Marks of the first ten categories, the second ten and so on. */
export const MARKS = ["disc", "ring", "triangle", "cross"] as const;

export const rgb = (hex: string): Rgb => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)) as Rgb;

/** The shade of a category at a place from 0, the darkest, to 1, the lightest. */
export function shadeColor(category: number, at: number): string {
  const [dark, light] = SHADES[category % SHADES.length].map(rgb);
  return `#${dark.map((low, c) => hex(Math.round(low + (light[c] - low) * at))).join("")}`;
}
const hex = (value: number) => value.toString(16).padStart(2, "0").toUpperCase();

/** The color of a category; negative numbers are noise, nodes of a tree have a hue or a shade of a cluster. */
export function categoryColor(number: number, theme: Theme): string {
  if (number < 0) return NOISE_GRAY[theme];
  const { category, at } = shading.of(number);
  return at === null ? CATEGORIES[category % CATEGORIES.length] : shadeColor(category, at);
}

/** The index of a category's mark. */
export const categoryMark = (number: number) =>
  number < 0 ? 0 : Math.min(Math.floor(shading.of(number).category / CATEGORIES.length), MARKS.length - 1);

/** The 256 colors of a scale, as bytes r, g, b. */
export function ramp(scale: Scale, theme: Theme): Uint8Array {
  const stops = SCALES[scale][theme].map(rgb);
  const out = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const position = (i / 255) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(position));
    for (let c = 0; c < 3; c++)
      out[3 * i + c] = Math.round(stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (position - k));
  }
  return out;
}

const ramps = new Map<string, Uint8Array>();

/** The color at `share` (0 to 1) of a scale. */
export function scaleColor(scale: Scale, theme: Theme, share: number): string {
  const key = scale + theme;
  if (!ramps.has(key)) ramps.set(key, ramp(scale, theme));
  const colors = ramps.get(key)!;
  const offset = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  return `rgb(${colors[offset]} ${colors[offset + 1]} ${colors[offset + 2]})`;
}

/** Black or white, whichever has more contrast on a color of a scale. */
export function textColorOn(scale: Scale, theme: Theme, share: number): string {
  const [r, g, b] = scaleColor(scale, theme, share)
    .match(/\d+/g)!
    .map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.0575 ? "#ffffff" : "#14161b";
}
