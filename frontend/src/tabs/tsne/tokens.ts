// What the points of a layer's layouts are.
import type { AtlasCard, Example, Token } from "../../lib/api";
import { sides } from "../examples/heads";

/** The points of layouts of a layer: tokens; of cross attention queries, then keys. */
export function pointsOf(atlas: AtlasCard, example: Example, layer: number): { tokens: Token[]; queries: number; same: boolean } {
  const kind = atlas.model.layers[layer].kind;
  const { queries, keys } = sides(atlas, example, kind);
  const same = kind !== "cross";
  return { tokens: same ? queries : [...queries, ...keys], queries: queries.length, same };
}
