// The points of a layer's layouts, and the attention map between these points.
import { VARIANTS, type Variant } from "../../generated/paths";
import type { AtlasCard, Example, Token } from "../../lib/api";
import { sides } from "../examples/heads";
import { seenMean, type Bundle } from "../examples/maps";
import type { Options, Seen } from "../examples/reduce";
import { tokenUnits, wordUnits, type Unit } from "../examples/tokens";

/** The variant of head t-SNE with or without special tokens, of tokens or of words. */
export function variantOf({ special, words }: Options): Variant {
  const unit = words ? "word" : "token";
  const names = Object.keys(VARIANTS) as Variant[];
  return names.find((name) => VARIANTS[name].special === special && VARIANTS[name].unit === unit)!;
}

/** Tokens or words. Special tokens are removed last, so that tokens on both sides of one never merge into a word. */
export function unitsOf(tokens: Token[], { special, words }: Options): Unit[] {
  const single = tokenUnits(tokens);
  const units = words ? wordUnits(single, tokens).units : single;
  return special ? units : units.filter((unit) => !unit.special);
}

/** The points of a layer's layouts; for cross attention the queries, then the keys. */
export function pointsOf(
  atlas: AtlasCard,
  example: Example,
  layer: number,
  options: Options,
): { units: Unit[]; queries: number; same: boolean } {
  const kind = atlas.model.layers[layer].kind;
  const { queries, keys } = sides(atlas, example, kind);
  const same = kind !== "cross";
  const queryUnits = unitsOf(queries, options);
  return { units: same ? queryUnits : [...queryUnits, ...unitsOf(keys, options)], queries: queryUnits.length, same };
}

/** The map between the points, as used for P: rows are not renormalized where special tokens are left out. */
export function seenOf(bundle: Bundle, { special, words }: Options): Seen {
  const all = seenMean(bundle, { special: true, words });
  if (special || bundle.pooled) return all;
  const plain = (units: Unit[]) => units.flatMap((unit, i) => (unit.special ? [] : [i]));
  const rows = plain(all.queries);
  const columns = all.same ? rows : plain(all.keys);
  if (!rows.length || !columns.length) return all; // no point is left, so there is no layout
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, i) =>
    columns.forEach((column, j) => (values[i * columns.length + j] = all.values[row * all.columns + column])),
  );
  const queries = rows.map((i) => all.queries[i]);
  return {
    ...all,
    rows: rows.length,
    columns: columns.length,
    values,
    queries,
    keys: all.same ? queries : columns.map((j) => all.keys[j]),
  };
}
