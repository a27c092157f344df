// Which heads are shown, and the tokens of their queries and keys.
import type { AtlasCard, Example, LayerCard, TextPatterns, Token } from "../../lib/api";
import { decodeLabel } from "../../lib/encoding";
import { headKey, parseHead, type HeadRef } from "../../lib/selection.svelte";

export type Kind = LayerCard["kind"];

/** The kinds a model has, in the order of its layers. */
export const kinds = (layers: LayerCard[]): Kind[] => [...new Set(layers.map((layer) => layer.kind))];

export const exists = (layers: LayerCard[], { layer, head }: HeadRef) =>
  layer < layers.length && head < layers[layer].heads;

/** Parse `0.2,3.10` to existing heads, sorted and without duplicates. */
export function parseHeads(text: string | undefined, layers: LayerCard[]): HeadRef[] | null {
  if (text === undefined) return null;
  const heads = new Map<string, HeadRef>();
  for (const part of text.split(",")) {
    const place = parseHead(part.trim());
    if (place && exists(layers, place)) heads.set(headKey(place), place);
  }
  return inOrder([...heads.values()]);
}

export const inOrder = (places: HeadRef[]) => [...places].sort((a, b) => a.layer - b.layer || a.head - b.head);

export const writeHeads = (places: HeadRef[]) => (places.length ? inOrder(places).map(headKey).join(",") : "none");

/** Add these heads, or remove them if all are already chosen. */
export function toggle(chosen: HeadRef[], these: HeadRef[]): HeadRef[] {
  const keys = new Set(these.map(headKey));
  const chosenKeys = new Set(chosen.map(headKey));
  const rest = chosen.filter((place) => !keys.has(headKey(place)));
  return these.every((place) => chosenKeys.has(headKey(place))) ? rest : inOrder([...rest, ...these]);
}

/** The pattern of a head's map on the text that is shown; null if it is not known. */
export type PatternOf = (layer: number, head: number) => number | null;

/** The patterns on an example, from the labels of all maps. */
export const patternsOf =
  ({ model }: AtlasCard, labels: Uint16Array | undefined, example: number): PatternOf =>
  (layer, head) => {
    const code = labels?.[(example * model.layers.length + layer) * model.heads + head];
    return code === undefined || example < 0 ? null : decodeLabel(code);
  };

/** The patterns on a custom text. */
export const customPatterns =
  (patterns: TextPatterns | undefined): PatternOf =>
  (layer, head) =>
    patterns?.labels[layer]?.[head] ?? null;

/** How many heads have each pattern, the most frequent first. */
export function patternCounts(layers: LayerCard[], pattern: PatternOf): [pattern: number, heads: number][] {
  const sizes = new Map<number, number>();
  layers.forEach(({ heads }, layer) => {
    for (let head = 0; head < heads; head++) {
      const number = pattern(layer, head);
      if (number !== null) sizes.set(number, (sizes.get(number) ?? 0) + 1);
    }
  });
  return [...sizes].sort((a, b) => b[1] - a[1]);
}

/** All heads of the layers of a kind. */
export const headsOf = (layers: LayerCard[], kind: Kind): HeadRef[] =>
  layers.flatMap((layer, at) =>
    layer.kind === kind ? Array.from({ length: layer.heads }, (_, head) => ({ layer: at, head })) : [],
  );

/** The chosen heads: those in the URL, unless another head was selected since; else the selected or the default head. */
export function chosenHeads(named: HeadRef[] | null, selected: HeadRef | null, fallback: HeadRef | null): HeadRef[] {
  if (named && (!selected || named.length === 0 || named.some((place) => headKey(place) === headKey(selected))))
    return named;
  if (selected) return [selected];
  return [fallback ?? { layer: 0, head: 0 }];
}

/** Tokens of an image: its special ones, then the patches row by row. */
function imageTokens(atlas: AtlasCard): Token[] {
  const grid = atlas.model.grid;
  if (!grid) return [];
  const patches = Array.from(
    { length: grid.rows * grid.columns },
    (_, i) => `${Math.floor(i / grid.columns)},${i % grid.columns}`,
  );
  return [
    ...grid.special.map((text) => ({ text, word: -1, special: true, segment: 0 })),
    ...patches.map((text, word) => ({ text, word, special: false, segment: 0 })),
  ];
}

type Sides = Pick<Example, "tokens" | "target">;
const made = new WeakMap<Sides, Token[]>();
function inputTokens(atlas: AtlasCard, example: Sides): Token[] {
  if (example.tokens.length || atlas.model.modality !== "image") return example.tokens;
  if (!made.has(example)) made.set(example, imageTokens(atlas));
  return made.get(example)!;
}

/** Tokens of queries and keys in maps of a kind; the same list if they are the same tokens. */
export function sides(atlas: AtlasCard, example: Sides, kind: Kind): { queries: Token[]; keys: Token[] } {
  const input = inputTokens(atlas, example);
  const output = example.target.length ? example.target : input;
  return { queries: kind === "encoder" ? input : output, keys: kind === "decoder" ? output : input };
}
