// Loads the maps of the chosen heads, a few at a time, and averages them.
import { ApiError, fullMap, pooledMaps, textOf, type AtlasCard, type Example, type Token } from "../../lib/api";
import type { HeadRef } from "../../lib/selection.svelte";
import { plural } from "../../lib/wording";
import { sides, type Kind } from "./heads";
import { addMap, fromPooled, reduce, type Options, type Seen } from "./reduce";

/** Maps with their tokens. Everything drawn comes from one bundle, so that tokens and maps always match. */
export interface Bundle {
  example: Example;
  heads: HeadRef[];
  kind: Kind;
  queries: Token[];
  keys: Token[];
  mean: Float32Array;
  each: Uint16Array[]; // encoded; empty if they would take too much memory
  pooled: number | null; // size of the stored maps if full ones are unavailable
  note: string; // why full maps are unavailable
}

const TOGETHER = 4; // requests at a time
const MEMORY = 128e6; // values of single maps that are kept
const PAUSE = 8e6; // values after which the event loop gets a turn

const moment = () => new Promise((done) => setTimeout(done));

export async function loadBundle(
  atlas: AtlasCard,
  example: Example,
  heads: HeadRef[],
  kind: Kind,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<Bundle> {
  const { queries, keys } = sides(atlas, example, kind);
  const base = { example, heads, kind, queries, keys };
  if (!heads.length) return { ...base, mean: new Float32Array(0), each: [], pooled: null, note: "" };
  if (!example.full)
    return { ...base, ...(await stored(atlas, example, heads, example.note || atlas.live_note, signal)) };
  try {
    return { ...base, ...(await full(atlas, example, heads, queries.length * keys.length, signal, progress)) };
  } catch (problem) {
    if (signal.aborted || !(problem instanceof ApiError) || !example.pooled) throw problem;
    return { ...base, ...(await stored(atlas, example, heads, problem.message, signal)) };
  }
}

async function full(
  atlas: AtlasCard,
  example: Example,
  heads: HeadRef[],
  size: number,
  signal: AbortSignal,
  progress: (done: number) => void,
) {
  const mean = new Float32Array(size);
  const keep = heads.length * size <= MEMORY;
  const each: Uint16Array[] = [];
  let [next, done, since] = [0, 0, 0];
  const loadNext = async () => {
    const at = next++;
    const { layer, head } = heads[at];
    const map = await fullMap(atlas, textOf(example), heads[at], signal);
    if (map.length !== size)
      throw new ApiError(
        0,
        `The map of L${layer}·H${head} has ${plural(map.length, "value")}, not ${size}.`,
        "Reload the page.",
      );
    addMap(mean, map, 1 / heads.length);
    if (keep) each[at] = map;
    progress(++done);
    since += size;
    if (since > PAUSE) {
      since = 0;
      await moment();
    }
    signal.throwIfAborted();
  };
  await loadNext(); // the first alone: it makes the server run the model, the others use the cached result
  await Promise.all(
    Array.from({ length: TOGETHER }, async () => {
      while (next < heads.length) await loadNext();
    }),
  );
  return { mean, each, pooled: null, note: "" };
}

async function stored(atlas: AtlasCard, example: Example, heads: HeadRef[], note: string, signal: AbortSignal) {
  if (!example.pooled)
    throw new ApiError(
      0,
      note || "There are no maps of this example.",
      atlas.live_note === note ? "" : atlas.live_note,
    );
  const r = atlas.resolution;
  const all = await pooledMaps(example, signal);
  const mean = new Float32Array(r * r);
  const each = heads.map(({ layer, head }) => {
    const first = (layer * atlas.model.heads + head) * r * r;
    return all.subarray(first, first + r * r);
  });
  for (const map of each) addMap(mean, map, 1 / heads.length);
  return { mean, each, pooled: r, note };
}

/** The mean map to draw. */
export const seenMean = (bundle: Bundle, options: Options): Seen =>
  bundle.pooled
    ? fromPooled(bundle.mean, bundle.pooled, bundle.queries, bundle.keys)
    : reduce(bundle.mean, bundle.queries, bundle.keys, options);

/** The map of one head to draw. */
export function seenOne(bundle: Bundle, at: number, options: Options): Seen {
  const values = new Float32Array(bundle.each[at].length);
  addMap(values, bundle.each[at]);
  return seenMean({ ...bundle, mean: values }, options);
}
