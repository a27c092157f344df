// The maps of all heads on one text, layer by layer: full ones of a short text, else pooled ones.
import { ApiError, layerMaps, pooledMaps, textOf, type AtlasCard, type Example, type Token } from "../../lib/api";
import { ARCS } from "./arcs";
import { sides } from "./heads";
import { addMap, fromPooled, reduce, type Options, type Seen } from "./reduce";

/** The maps of a layer (head, query, key), with their tokens. */
export interface Layer {
  values: Uint16Array;
  size: number; // values of a map
  queries: Token[];
  keys: Token[];
  pooled: number | null; // size of pooled maps
}

/** Whether all maps of a text are shown in full: it is short, and they are available. */
export function inFull(atlas: AtlasCard, example: Example): boolean {
  const longest = Math.max(
    ...atlas.model.layers.map(({ kind }) => {
      const { queries, keys } = sides(atlas, example, kind);
      return Math.max(queries.length, keys.length);
    }),
  );
  return example.full && longest <= ARCS && atlas.model.modality === "text";
}

export const pooledNote = (example: Example, r: number) =>
  `Pooled to ${r} × ${r}${example.full ? ` beyond ${ARCS} tokens` : example.note ? `: ${example.note}` : ""}.`;

/** Load all layers; `put` gets each as it arrives. */
export async function loadLayers(
  atlas: AtlasCard,
  example: Example,
  signal: AbortSignal,
  put: (layer: number, maps: Layer) => void,
): Promise<void> {
  if (!inFull(atlas, example)) return loadPooled(atlas, example, signal, put);
  for (let layer = 0; layer < atlas.model.layers.length; layer++) {
    const values = await layerMaps(atlas, textOf(example), layer, signal); // after the first, from the server's cache
    const { kind, heads } = atlas.model.layers[layer];
    const tokens = sides(atlas, example, kind);
    const size = tokens.queries.length * tokens.keys.length;
    if (values.length !== heads * size)
      throw new ApiError(0, `The maps of layer ${layer} do not fit the tokens.`, "Reload the page.");
    signal.throwIfAborted();
    put(layer, { values, size, ...tokens, pooled: null });
  }
}

async function loadPooled(
  atlas: AtlasCard,
  example: Example,
  signal: AbortSignal,
  put: (layer: number, maps: Layer) => void,
) {
  if (!example.pooled && example.key === null)
    throw new ApiError(0, example.note || "There are no maps of this example.", atlas.live_note);
  const all = await pooledMaps(example, signal);
  signal.throwIfAborted();
  const r = atlas.resolution;
  atlas.model.layers.forEach(({ heads, kind }, layer) => {
    const first = layer * atlas.model.heads * r * r;
    put(layer, {
      values: all.subarray(first, first + heads * r * r),
      size: r * r,
      ...sides(atlas, example, kind),
      pooled: r,
    });
  });
}

/** The encoded map of one head. */
export const encodedHead = ({ values, size }: Layer, head: number) => values.subarray(head * size, (head + 1) * size);

/** The map of one head to draw. */
export function seenHead(layer: Layer, head: number, options: Options): Seen {
  const { size, queries, keys, pooled } = layer;
  const map = new Float32Array(size);
  addMap(map, encodedHead(layer, head));
  return pooled ? fromPooled(map, pooled, queries, keys) : reduce(map, queries, keys, options);
}
