// Everything the page asks of the server, or of the files of an exported page. Answers are kept: moving back is instant.
import type { components } from "./schema";

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
export type Place = Schemas["Place"];
export type Cluster = Schemas["Cluster"];
export type Cell = Schemas["Cell"];
export type Evidence = Schemas["Evidence"];
export type Profiles = Schemas["Profiles"];
export type Profile = Schemas["Profile"];
export type Examples = Schemas["Examples"];
export type Texts = Schemas["Texts"];
export type Example = Schemas["Example"];
export type Token = Schemas["Token"];
export type Attempt = Schemas["Attempt"];
export type Tsne = Schemas["Tsne"];
export type HeadLayout = Schemas["HeadLayout"];
export type StateLayout = Schemas["StateLayout"];
export type Frame = Schemas["Frame"];
export type Progress = Schemas["Progress"];
type Failure = Schemas["Failure"];

/** What went wrong, and what to do next. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly next = "",
  ) {
    super(message);
  }
}

const KEPT = 384e6; // bytes of answers that are kept
const kept = new Map<string, { answer: Promise<unknown>; size: number }>();

function keep<T>(path: string, ask: () => Promise<[T, number]>): Promise<T> {
  const there = kept.get(path);
  if (there) {
    kept.delete(path); // the latest used come last
    kept.set(path, there);
    return there.answer as Promise<T>;
  }
  const entry = { answer: Promise.resolve() as Promise<unknown>, size: 0 };
  const answer = ask().then(([value, size]) => {
    entry.size = size;
    let total = [...kept.values()].reduce((sum, one) => sum + one.size, 0);
    for (const [name, one] of kept) {
      if (total <= KEPT || one === entry) break;
      kept.delete(name);
      total -= one.size;
    }
    return value;
  });
  entry.answer = answer;
  kept.set(path, entry);
  answer.catch(() => kept.delete(path)); // the next reader may have more luck
  return answer;
}

async function ask(path: string, options?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.", "Start it again: headatlas serve x.atlas");
  }
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => null)) as Failure | null;
  throw new ApiError(answer.status, said?.error?.message ?? `${path}: ${answer.statusText}`, said?.error?.next ?? "");
}

const json = <T>(path: string) =>
  keep<T>(path, async () => {
    const text = await (await ask(path)).text();
    return [JSON.parse(text) as T, 4 * text.length];
  });

/** A buffer of u16 values. */
export const buffer = (path: string) =>
  keep<Uint16Array>(path, async () => {
    const bytes = await (await ask(path)).arrayBuffer();
    return [new Uint16Array(bytes), bytes.byteLength];
  });

/** A full map; given up when the reader moves on, so that the server can stop computing it. */
export async function fullMap(path: string, signal: AbortSignal): Promise<Uint16Array> {
  const there = kept.get(path);
  if (there) return there.answer as Promise<Uint16Array>;
  const bytes = await (await ask(path, { signal })).arrayBuffer();
  const values = new Uint16Array(bytes);
  await keep(path, async () => [values, bytes.byteLength]);
  return values;
}

/** Head t-SNE of a text; given up when the reader moves on. */
export async function fetchLayouts(path: string, signal: AbortSignal): Promise<Tsne> {
  const there = kept.get(path);
  if (there) return there.answer as Promise<Tsne>;
  const text = await (await ask(path, { signal })).text();
  const found = JSON.parse(text) as Tsne;
  await keep(path, async () => [found, 4 * text.length]);
  return found;
}

/** How far the layouts at a path are; asking begins nothing. */
export const fetchProgress = async (path: string, signal: AbortSignal) =>
  (await (await ask(path.replace(/\.json$/, "/progress.json"), { signal })).json()) as Progress;

/** All maps of a text of one's own. */
export async function tryText(body: Attempt, signal: AbortSignal): Promise<Example> {
  const headers = { "content-type": "application/json" };
  const answer = await ask("api/try.json", { method: "POST", headers, body: JSON.stringify(body), signal });
  return (await answer.json()) as Example;
}

/** One pooled map; an exported page has them by example only. */
export async function pooledMap(atlas: AtlasCard, example: number, layer: number, head: number): Promise<Uint16Array> {
  if (!atlas.static) return buffer(`api/maps/${example}/${layer}.${head}.bin`);
  const size = atlas.resolution ** 2;
  const all = await buffer(`api/examples/${example}/pooled.bin`);
  const first = (layer * atlas.model.heads + head) * size;
  return all.subarray(first, first + size);
}

export const get = {
  atlas: () => json<AtlasCard>("api/atlas.json"),
  heads: () => json<Heads>("api/heads.json"),
  clusters: (of: string) => json<Clusters>(`api/clusterings/${of}/clusters.json`),
  profiles: (of: string) => json<Profiles>(`api/clusterings/${of}/profiles.json`),
  cluster: (of: string, cluster: number) => json<Cluster>(`api/clusterings/${of}/clusters/${cluster}.json`),
  examples: () => json<Examples>("api/examples.json"),
  texts: () => json<Texts>("api/texts.json"),
  example: (example: number) => json<Example>(`api/examples/${example}.json`),
};
