// The map and the vectors of a head on an example. Without the model the map follows from the vectors, where that is proven.
import { paths } from "../../../generated/paths";
import { ApiError, buffer, get, type AtlasCard, type Example } from "../../../lib/api";
import type { HeadRef } from "../../../lib/selection.svelte";
import { loadBundle, type Bundle } from "../../examples/maps";
import { agrees } from "./agree";
import { attentionOf, headVectors, type HeadVectors } from "./vectors";

export interface Opened {
  bundle: Bundle;
  vectors: HeadVectors | null; // null: not stored
  how: "model" | "vectors" | "pooled"; // where the map is from
}

export async function open(atlas: AtlasCard, number: number, place: HeadRef, signal: AbortSignal): Promise<Opened> {
  const example = await get.example(number);
  const { kind } = atlas.model.layers[place.layer];
  const [bundle, stored] = await Promise.all([
    loadBundle(atlas, example, [place], kind, signal, () => {}),
    example.vectors ? loadVectors(example, place.layer) : null,
  ]);
  const layer = atlas.model.layers[place.layer];
  const vectors = stored && headVectors(layer, stored, place.head, bundle.queries.length, bundle.keys.length);
  if (!bundle.pooled) return { bundle, vectors, how: "model" };
  if (vectors && !layer.note) {
    const mean = attentionOf(vectors, layer.causal);
    if (agrees(mean, bundle)) return { bundle: { ...bundle, mean, pooled: null }, vectors, how: "vectors" };
  }
  return { bundle, vectors, how: "pooled" };
}

const loadVectors = (example: Example, layer: number) =>
  buffer(paths.layerVectors({ example: example.example, layer })).catch((problem) => {
    if (problem instanceof ApiError && problem.status === 404) return null;
    throw problem;
  });
