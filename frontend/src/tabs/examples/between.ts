// The attention between two tokens or words, for every head.
import { ApiError, layerMaps, textOf, type AtlasCard, type Example, type Token } from "../../lib/api";
import type { HeadRef } from "../../lib/selection.svelte";
import { count } from "../../lib/wording";
import { sides, type Kind } from "./heads";
import { decoding, type Options, type Seen } from "./reduce";
import type { Focus } from "./tints";

/** The tokens of a query and of a key. */
export interface Direction {
  queries: number[];
  keys: number[];
}
/** A head with its attention in each direction. */
export interface Link extends HeadRef {
  weights: number[];
}

const MOST_VALUES = 128e6; // of all maps; more would take too long to load

/** From the first to the second unit and back; one direction only where queries and keys are different texts. */
export function directions(seen: Seen, first: Focus, second: Focus): Direction[] {
  const one = (from: Focus, to: Focus): Direction[] =>
    from.query === null || to.key === null
      ? []
      : [{ queries: seen.queries[from.query].tokens, keys: seen.keys[to.key].tokens }];
  return [...one(first, second), ...one(second, first)];
}

/** Keys over which rows are rescaled to sum to 1 if special tokens are hidden; null if they are shown. */
export function keptKeys(queries: Token[], keys: Token[], { special }: Options): number[] | null {
  if (special || queries.every((token) => token.special)) return null;
  const kept = keys.flatMap((token, i) => (token.special ? [] : [i]));
  return kept.length && kept.length < keys.length ? kept : null;
}

/** Attention between units of one encoded map as it is shown: mean over queries, sum over keys. */
export function weight(map: Uint16Array, columns: number, { queries, keys }: Direction, kept: number[] | null): number {
  const attention = decoding();
  let mean = 0;
  for (const query of queries) {
    const row = query * columns;
    let sum = 0;
    for (const key of keys) sum += attention[map[row + key]];
    let all = 1;
    if (kept) {
      all = 0;
      for (const key of kept) all += attention[map[row + key]];
    }
    if (all > 1e-9) mean += sum / all / queries.length;
  }
  return mean;
}

export const strongestOf = ({ weights }: Link) => Math.max(...weights);

/** All heads of the layers of a kind, the one with the strongest link first. */
export async function rankHeads(
  atlas: AtlasCard,
  example: Example,
  kind: Kind,
  ways: Direction[],
  options: Options,
  signal: AbortSignal,
): Promise<Link[]> {
  const { queries, keys } = sides(atlas, example, kind);
  const size = queries.length * keys.length;
  const layers = atlas.model.layers.flatMap((layer, at) => (layer.kind === kind ? [at] : []));
  const values = layers.reduce((sum, layer) => sum + atlas.model.layers[layer].heads * size, 0);
  if (values > MOST_VALUES)
    throw new ApiError(0, `${count(queries.length)} tokens are too many to rank all heads.`, "Try a shorter text.");
  const kept = keptKeys(queries, keys, options);
  const links: Link[] = [];
  for (const layer of layers) {
    const maps = await layerMaps(atlas, textOf(example), layer, signal);
    signal.throwIfAborted();
    for (let head = 0; head < atlas.model.layers[layer].heads; head++) {
      const map = maps.subarray(head * size, (head + 1) * size);
      links.push({ layer, head, weights: ways.map((way) => weight(map, keys.length, way, kept)) });
    }
  }
  return links.sort((a, b) => strongestOf(b) - strongestOf(a));
}
