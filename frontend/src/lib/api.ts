// All requests of the page, to the server or to the files of an exported page. Responses are cached, so that going back
// is instant.
import { paths, type Path, type Text } from "../generated/paths";
import type { components } from "../generated/schema";

type Schemas = components["schemas"];
export type AtlasCard = Schemas["AtlasCard"];
export type LayerCard = Schemas["LayerCard"];
export type StatisticCard = Schemas["StatisticCard"];
export type ColumnCard = Schemas["ColumnCard"];
export type ProjectionCard = Schemas["ProjectionCard"];
export type ClusteringCard = Schemas["ClusteringCard"];
export type StageCard = Schemas["StageCard"];
export type Heads = Schemas["Heads"];
export type HeadRow = Schemas["HeadRow"];
export type Clusters = Schemas["Clusters"];
export type ClusterRow = Schemas["ClusterRow"];
export type Tree = Schemas["Tree"];
export type NodeRow = Schemas["NodeRow"];
export type Place = Schemas["Place"];
export type NullShare = Schemas["NullShare"];
export type NullModels = Schemas["NullModels"];
export type UnlikeHead = Schemas["UnlikeHead"];
export type Change = Schemas["Change"];
export type Cluster = Schemas["Cluster"];
export type Cell = Schemas["Cell"];
export type Evidence = Schemas["Evidence"];
export type Profiles = Schemas["Profiles"];
export type Profile = Schemas["Profile"];
export type Examples = Schemas["Examples"];
export type Texts = Schemas["Texts"];
export type Example = Schemas["Example"];
export type Token = Schemas["Token"];
export type CustomText = Schemas["CustomText"];
export type Tsne = Schemas["Tsne"];
export type HeadLayout = Schemas["HeadLayout"];
export type StateLayout = Schemas["StateLayout"];
export type PositionScale = Schemas["PositionScale"];
export type Progress = Schemas["Progress"];
type ErrorResponse = Schemas["ErrorResponse"];

/** An error with what to do next. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly next = "",
    readonly command = "",
  ) {
    super(message);
  }
}

const CACHE_BYTES = 384e6;
const cache = new Map<string, { value: Promise<unknown>; size: number }>(); // least recently used first

function cached<T>(path: string, load: () => Promise<[T, number]>): Promise<T> {
  const hit = cache.get(path);
  if (hit) {
    cache.delete(path); // moves it to the end
    cache.set(path, hit);
    return hit.value as Promise<T>;
  }
  const entry = { value: Promise.resolve() as Promise<unknown>, size: 0 };
  const value = load().then(([loaded, size]) => {
    entry.size = size;
    evict(entry);
    return loaded;
  });
  entry.value = value;
  cache.set(path, entry);
  value.catch(() => cache.delete(path)); // the next request tries again
  return value;
}

/** Remove the least recently used responses until the cache fits, but not the newest. */
function evict(newest: object) {
  let total = [...cache.values()].reduce((sum, entry) => sum + entry.size, 0);
  for (const [path, entry] of cache) {
    if (total <= CACHE_BYTES || entry === newest) break;
    cache.delete(path);
    total -= entry.size;
  }
}

async function request(path: string, options?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new ApiError(0, "The server does not respond.", "Start it again.", "headatlas serve x.atlas");
  }
  if (response.ok) return response;
  const failure = (await response.json().catch(() => null)) as ErrorResponse | null;
  throw new ApiError(
    response.status,
    failure?.error?.message ?? `${path}: ${response.statusText}`,
    failure?.error?.next,
    failure?.error?.command,
  );
}

const json = <T>(path: Path<T>) =>
  cached<T>(path, async () => {
    const text = await (await request(path)).text();
    return [JSON.parse(text) as T, 4 * text.length];
  });

/** An array of u16 values; see lib/encoding. */
export const buffer = (path: Path<Uint16Array>) =>
  cached<Uint16Array>(path, async () => {
    const bytes = await (await request(path)).arrayBuffer();
    return [new Uint16Array(bytes), bytes.byteLength];
  });

/** A full map. The request is aborted by the signal, so that the server can stop computing. */
export async function fullMap(path: Path<Uint16Array>, signal: AbortSignal): Promise<Uint16Array> {
  const hit = cache.get(path);
  if (hit) return hit.value as Promise<Uint16Array>;
  const bytes = await (await request(path, { signal })).arrayBuffer();
  const values = new Uint16Array(bytes);
  await cached(path, async () => [values, bytes.byteLength]);
  return values;
}

/** Head t-SNE layouts of a text; aborted by the signal. */
export async function fetchLayouts(path: Path<Tsne>, signal: AbortSignal): Promise<Tsne> {
  const hit = cache.get(path);
  if (hit) return hit.value as Promise<Tsne>;
  const text = await (await request(path, { signal })).text();
  const layouts = JSON.parse(text) as Tsne;
  await cached(path, async () => [layouts, 4 * text.length]);
  return layouts;
}

/** Progress of layouts. This does not start their computation. */
export const fetchProgress = async (path: Path<Progress>, signal: AbortSignal) =>
  (await (await request(path, { signal })).json()) as Progress;

/** All maps of custom text. */
export async function tryText(body: CustomText, signal: AbortSignal): Promise<Example> {
  const headers = { "content-type": "application/json" };
  const response = await request(paths.customText(), { method: "POST", headers, body: JSON.stringify(body), signal });
  return (await response.json()) as Example;
}

/** The parameters of API paths of an example or of custom text. */
export const textOf = ({ example, key }: Example): Text => (key === null ? { example } : { key });

/** One pooled map. An exported page has them in one file per example. */
export async function pooledMap(atlas: AtlasCard, example: number, layer: number, head: number): Promise<Uint16Array> {
  if (!atlas.static) return buffer(paths.pooledMap({ example, layer, head }));
  const size = atlas.resolution ** 2;
  const maps = await buffer(paths.pooled({ example }));
  const first = (layer * atlas.model.heads + head) * size;
  return maps.subarray(first, first + size);
}

export const get = {
  atlas: () => json(paths.atlas()),
  heads: () => json(paths.heads()),
  clusters: (clustering: string) => json(paths.clusters({ clustering })),
  tree: (clustering: string) => json(paths.tree({ clustering })),
  profiles: (clustering: string) => json(paths.profiles({ clustering })),
  changes: (clustering: string, layer: number, head: number) => json(paths.changes({ clustering, layer, head })),
  cluster: (clustering: string, cluster: number) => json(paths.cluster({ clustering, cluster })),
  unlike: (clustering: string, example: number) => json(paths.unlike({ clustering, example })),
  examples: () => json(paths.examples()),
  texts: () => json(paths.texts()),
  example: (example: number) => json(paths.example({ example })),
};
