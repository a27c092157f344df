// Differences of attention maps, and maps of kept examples with their tokens.
import type { KeptExample, Token } from "../../lib/api";
import { mapPixels, widest } from "../../lib/draw";
import { decodeAttention } from "../../lib/encoding";
import type { Theme } from "../../lib/theme.svelte";
import { resampler } from "../../parts/grid/resample";
import { sheetOf } from "../../parts/grid/sheet";

/** After − before, of two encoded maps. */
export const difference = (before: Uint16Array, after: Uint16Array): Float32Array =>
  Float32Array.from(after, (value, at) => decodeAttention(value) - decodeAttention(before[at]));

/** The largest difference of all maps: they share one scale. */
export const widestOf = (maps: (Float32Array | null)[]) =>
  maps.reduce((most, map) => (map ? Math.max(most, widest(map)) : most), 0);

/** A sheet of differences; null: a head without a counterpart. */
export function differenceSheet(
  maps: (Float32Array | null)[],
  top: number,
  resolution: number,
  size: number,
  theme: Theme,
): HTMLCanvasElement {
  const sample = resampler(resolution, size);
  return sheetOf(maps.length, size, (at) => {
    const map = maps[at];
    return map && mapPixels(sample(map), size, size, theme, top, "differences");
  });
}

const token = (text: string): Token => ({ text, word: -1, special: false, segment: 0 });

/** The tokens of a kept example as other tabs have them. */
export const tokensOf = ({ tokens, target }: Pick<KeptExample, "tokens" | "target">) => ({
  tokens: tokens.map(token),
  target: target.map(token),
});

/** Parts of a text by where they begin, for a model whose tokens are not known. */
export const positions = (parts: number): Token[] =>
  Array.from({ length: parts }, (_, at) => token(`${Math.round((100 * at) / parts)}%`));
