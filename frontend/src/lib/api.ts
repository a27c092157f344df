// All requests of the page. Responses are cached, so that going back is instant.
import { paths, type Path, type Text } from "../generated/paths";
import type { components } from "../generated/schema";
import { embedded } from "./embedded";
import { namedClusters, namedFindings, namedProfiles, namedTree, names, type Notes } from "./names.svelte";
import type { HeadRef } from "./selection.svelte";
import { send } from "./transport";

export type { Clusters, ClusterRow, NodeRow, Notes, Profiles, Tree } from "./names.svelte";

type Schemas = components["schemas"];
export type AtlasCard = Schemas["AtlasCard"];
export type LayerCard = Schemas["LayerCard"];
export type StatisticCard = Schemas["StatisticCard"];
export type SpanChange = Schemas["SpanChange"];
export type ColumnCard = Schemas["ColumnCard"];
export type ProjectionCard = Schemas["ProjectionCard"];
export type ClusteringCard = Schemas["ClusteringCard"];
export type StageCard = Schemas["StageCard"];
export type Heads = Schemas["Heads"];
export type HeadRow = Schemas["HeadRow"];
export type Place = Schemas["Place"];
export type NullShare = Schemas["NullShare"];
export type NullModels = Schemas["NullModels"];
export type UnlikeHead = Schemas["UnlikeHead"];
export type Change = Schemas["Change"];
export type Findings = Schemas["Findings"];
export type Cluster = Schemas["Cluster"];
export type Cell = Schemas["Cell"];
export type Evidence = Schemas["Evidence"];
export type Profile = Schemas["Profile"];
export type Examples = Schemas["Examples"];
export type Computed = Schemas["Computed"];
export type Texts = Schemas["Texts"];
export type Example = Schemas["Example"];
export type Token = Schemas["Token"];
export type CustomText = Schemas["CustomText"];
export type TextPatterns = Schemas["TextPatterns"];
export type TextStatistics = Schemas["TextStatistics"];
export type Tsne = Schemas["Tsne"];
export type HeadLayout = Schemas["HeadLayout"];
export type StateLayout = Schemas["StateLayout"];
export type PositionScale = Schemas["PositionScale"];
export type Progress = Schemas["Progress"];
export type Embedding = Schemas["Embedding"];
export type EmbeddedHead = Schemas["EmbeddedHead"];
export type EmbeddedTokens = Schemas["EmbeddedTokens"];
export type PointColumn = Schemas["PointColumn"];
export type Honesty = Schemas["Honesty"];
export type Average = Schemas["Average"];
export type Means = Schemas["Means"];
export type Probe = Schemas["Probe"];
export type AnalysisCard = Schemas["AnalysisCard"];
export type HeadAnalysis = Schemas["HeadAnalysis"];
export type MeasureCard = Schemas["MeasureCard"];
export type Roles = Schemas["Roles"];
export type RoleCard = Schemas["RoleCard"];
export type TableRows = Schemas["TableRows"];
export type Relations = Schemas["Relations"];
export type Relation = Schemas["Relation"];
export type RelationCase = Schemas["Case"];
export type PlacedHead = Schemas["PlacedHead"];
export type SearchRequest = Schemas["SearchRequest"];
export type SearchNames = Schemas["SearchNames"];
export type FoundHeads = Schemas["FoundHeads"];
export type Comparison = Schemas["Comparison"];
export type ComparisonStep = Schemas["ComparisonStep"];
export type HeadShift = Schemas["HeadShift"];
export type HeadSeries = Schemas["HeadSeries"];
export type PatternChange = Schemas["PatternChange"];
export type MatchedHead = Schemas["MatchedHead"];
export type KeptExample = Schemas["KeptExample"];
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
    response = await send(path, options);
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

/** An array of u16 values that is computed. The request is aborted by the signal, so that the server can stop. */
async function computed(path: Path<Uint16Array>, signal: AbortSignal): Promise<Uint16Array> {
  const hit = cache.get(path);
  if (hit) return hit.value as Promise<Uint16Array>;
  const bytes = await (await request(path, { signal })).arrayBuffer();
  const values = new Uint16Array(bytes);
  await cached(path, async () => [values, bytes.byteLength]);
  return values;
}

/** The full maps of a layer (head, query, key). */
export const layerMaps = (atlas: AtlasCard, text: Text, layer: number, signal: AbortSignal) =>
  atlas.static ? buffer(paths.layerMaps({ ...text, layer })) : computed(paths.layerMaps({ ...text, layer }), signal);

/** One full map. An exported page has those of a layer in one file. */
export async function fullMap(
  atlas: AtlasCard,
  text: Text,
  { layer, head }: HeadRef,
  signal: AbortSignal,
): Promise<Uint16Array> {
  if (!atlas.static) return computed(paths.fullMap({ ...text, layer, head }), signal);
  const maps = await layerMaps(atlas, text, layer, signal);
  const size = maps.length / atlas.model.layers[layer].heads;
  return maps.subarray(head * size, (head + 1) * size);
}

/** All pooled maps (layer, head, r, r) of an example or of custom text. */
export const pooledMaps = ({ example, key }: Example, signal: AbortSignal) =>
  key === null ? buffer(paths.pooled({ example })) : computed(paths.customPooled({ key }), signal);

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

/** Ask the server for a search over heads: first for its key, by which progress is known, then for its result. */
export async function searchHeads(
  body: SearchRequest,
  started: (key: string) => void,
  signal: AbortSignal,
): Promise<FoundHeads> {
  const headers = { "content-type": "application/json" };
  const asked = await request(paths.search(), { method: "POST", headers, body: JSON.stringify(body), signal });
  const { key } = (await asked.json()) as Schemas["SearchKey"];
  started(key);
  return (await (await request(paths.searchResults({ key }), { signal })).json()) as FoundHeads;
}

/** The parameters of API paths of an example or of custom text. */
export const textOf = ({ example, key }: Example): Text => (key === null ? { example } : { key });

/** The address of an image for an element that shows it. */
export const image = (path: Path<Blob>) =>
  embedded
    ? cached<string>(path, async () => {
        const blob = await (await request(path)).blob();
        return [URL.createObjectURL(blob), blob.size];
      })
    : Promise.resolve<string>(path);

/** One pooled map. An exported page has them in one file per example, a page that is a single file one by one. */
export async function pooledMap(atlas: AtlasCard, example: number, layer: number, head: number): Promise<Uint16Array> {
  if (!atlas.static || embedded) return buffer(paths.pooledMap({ example, layer, head }));
  if (atlas.pooled_examples && !atlas.pooled_examples.includes(example))
    throw new ApiError(404, "This map is not part of the exported page.");
  const size = atlas.resolution ** 2;
  const maps = await buffer(paths.pooled({ example }));
  const first = (layer * atlas.model.heads + head) * size;
  return maps.subarray(first, first + size);
}

export const fetchNotes = async () => (await (await request(paths.notes())).json()) as Notes;

/** Change one entry of the notes; returns all of them. */
export async function changeNotes(body: Schemas["NotesChange"]): Promise<Notes> {
  const headers = { "content-type": "application/json" };
  const response = await request(paths.changeNotes(), { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as Notes;
}

const renamed = new WeakMap<object, { notes: Notes; value: unknown }>();

/** A response with the names that a person gave; it is made again when these change. */
async function withNames<T extends object, Named>(loading: Promise<T>, rename: (value: T) => Named): Promise<Named> {
  const { notes } = names; // read before the response arrives, so that what shows it depends on the notes
  const value = await loading;
  const hit = renamed.get(value);
  if (hit?.notes === notes) return hit.value as Named;
  const named = rename(value);
  renamed.set(value, { notes, value: named });
  return named;
}

export const get = {
  atlas: () => json(paths.atlas()),
  heads: () => json(paths.heads()),
  clusters: (clustering: string) => withNames(json(paths.clusters({ clustering })), namedClusters),
  tree: (clustering: string) => withNames(json(paths.tree({ clustering })), namedTree),
  profiles: (clustering: string) =>
    withNames(json(paths.profiles({ clustering })), (profiles) => namedProfiles(profiles, clustering)),
  changes: (clustering: string, layer: number, head: number) => json(paths.changes({ clustering, layer, head })),
  findings: (clustering: string) => withNames(json(paths.findings({ clustering })), namedFindings),
  cluster: (clustering: string, cluster: number) => json(paths.cluster({ clustering, cluster })),
  unlike: (clustering: string, example: number) => json(paths.unlike({ clustering, example })),
  neighbors: (projection: string, map: { example: number; layer: number; head: number }) =>
    json(paths.neighbors({ projection, ...map })),
  examples: () => json(paths.examples()),
  computed: () => json(paths.computed()),
  texts: () => json(paths.texts()),
  textPatterns: (key: string, clustering: string) => json(paths.customPatterns({ key, clustering })),
  textStatistics: (key: string) => json(paths.customStatistics({ key })),
  example: (example: number) => json(paths.example({ example })),
  embedding: (embedding: string) => json(paths.qk({ embedding })),
  embeddedTokens: (embedding: string) => json(paths.qkTokens({ embedding })),
  honesty: (embedding: string, { layer, head }: HeadRef) => json(paths.qkHonesty({ embedding, layer, head })),
  nearPoints: (embedding: string, { layer, head }: HeadRef, point: number) =>
    json(paths.qkNeighbors({ embedding, layer, head, point })),
  probe: () => json(paths.probe()),
  headProbe: ({ layer, head }: HeadRef) => json(paths.probeHead({ layer, head })),
  probeMeasures: (table: string) => json(paths.probeMeasures({ table })),
  probeRoles: (table: string) => json(paths.probeRoles({ table })),
  probeRows: (table: string) => json(paths.probeRows({ table })),
  relations: () => json(paths.probeRelations()),
  headDistances: () => json(paths.probeDistances()),
  average: ({ layer, head }: HeadRef) => json(paths.average({ layer, head })),
  comparisons: () => json(paths.compare()),
  comparison: (comparison: string) => json(paths.comparison({ comparison })),
  comparisonStep: (comparison: string, step: number) => json(paths.compareStep({ comparison, step })),
  comparedHead: (comparison: string, { layer, head }: HeadRef) => json(paths.compareHead({ comparison, layer, head })),
  keptExamples: (comparison: string) => json(paths.compareExamples({ comparison })),
};
