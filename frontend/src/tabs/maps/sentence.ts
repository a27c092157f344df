// What the maps of a set have in common, in one sentence.
import type { AtlasCard, ProjectionCard } from "../../lib/api";
import { count, headName, joinList, plural, percent } from "../../lib/format";
import type { Shape } from "./places";

const MOST = 0.8; // the share that says where a set comes from
const MAINLY = 0.6;

/** A measure between 0 and 1 in two digits: never 1 unless it is. */
export const ratio = (value: number) => (value >= 0.995 && value < 1 ? "> 0.99" : value.toFixed(2));

/** A projection's method, as it is written. */
export const methodName = (method: string) => ({ pca: "PCA", umap: "UMAP", tsne: "t-SNE" })[method] ?? method;

/** How far near points of a projection look alike, in words. */
export function faithful(trustworthiness: number | null): string {
  if (trustworthiness === null) return "near points should look alike";
  const how =
    trustworthiness >= 0.95 ? "look alike" : trustworthiness >= 0.85 ? "mostly look alike" : "often do not look alike";
  return `near points ${how} (trustworthiness ${ratio(trustworthiness)})`;
}

/** The whole: how many maps, and how far the picture can be trusted. */
export function wholeSentence(
  atlas: AtlasCard,
  maps: number,
  projection: ProjectionCard,
  patterns: number | null,
): string {
  const heads = atlas.model.layers.reduce((sum, layer) => sum + layer.heads, 0);
  const end = patterns === null ? "" : `; ${plural(patterns, "pattern")}`;
  return `${plural(maps, "map")} of ${plural(heads, "head")} on ${plural(atlas.data.examples, atlas.data.modality)}: ${faithful(projection.trustworthiness)}${end}.`;
}

/** How many of some maps each head and each example has. */
export interface Sources {
  total: number;
  heads: Uint32Array; // layer by layer
  examples: Uint32Array;
}

export function sources(shape: Shape, some: Uint32Array): Sources {
  const each = shape.layers * shape.heads;
  const heads = new Uint32Array(each);
  const examples = new Uint32Array(shape.examples);
  for (let k = 0; k < some.length; k++) {
    const example = Math.floor(some[k] / each);
    examples[example]++;
    heads[some[k] - example * each]++;
  }
  return { total: some.length, heads, examples };
}

/** The fewest entries that hold most of the sum, the largest first. */
function fewest(counts: ArrayLike<number>, total: number): { entries: number[]; share: number } {
  const order = Array.from(counts, (_, at) => at).sort((a, b) => counts[b] - counts[a]);
  const entries: number[] = [];
  let sum = 0;
  for (const at of order) {
    if (sum >= MOST * total) break;
    entries.push(at);
    sum += counts[at];
  }
  return { entries, share: sum / total };
}

const all = (share: number) => (share === 1 ? "all" : percent(share));

/** Where maps come from: a few heads, a few layers, or everywhere. */
export function origin(shape: Shape, { heads, total }: Sources): string {
  const places = fewest(heads, total);
  if (places.entries.length <= 3) {
    const names = places.entries.map((at) => headName({ layer: Math.floor(at / shape.heads), head: at % shape.heads }));
    return `${all(places.share)} from ${joinList(names)}`;
  }
  const layers = Array.from({ length: shape.layers }, (_, layer) =>
    heads.subarray(layer * shape.heads, (layer + 1) * shape.heads).reduce((sum, one) => sum + one, 0),
  );
  const [few, used] = [fewest(layers, total), heads.reduce((sum, one) => sum + Number(one > 0), 0)];
  if (few.entries.length <= 2 && shape.layers > 3) {
    const names = few.entries.sort((a, b) => a - b).map(String);
    return `${all(few.share)} from layer${names.length > 1 ? "s" : ""} ${joinList(names)}`;
  }
  const there = layers.map((one, layer) => (one ? layer : -1)).filter((layer) => layer >= 0);
  const where = there.length === shape.layers ? "all layers" : `layers ${there[0]} to ${there[there.length - 1]}`;
  return `from ${plural(used, "head")} of ${there.length === 1 ? `layer ${there[0]}` : where}`;
}

/** On which examples maps were seen: one, long ones, short ones, or all kinds. */
export function inputs({ examples, total }: Sources, lengths: number[], what: string): string {
  const used = examples.reduce((sum, one) => sum + Number(one > 0), 0);
  if (used === 1) return `all on ${what} ${examples.findIndex((one) => one > 0)}`;
  const sorted = [...lengths].sort((a, b) => a - b);
  const short = sorted[Math.floor(sorted.length / 3)];
  const long = sorted[Math.floor((2 * sorted.length) / 3)];
  if (!(short < long)) return `on ${plural(used, what)}`; // all of one length
  let [shorter, longer] = [0, 0];
  lengths.forEach((length, at) => {
    if (length < short) shorter += examples[at];
    if (length > long) longer += examples[at];
  });
  if (longer / total >= MAINLY) return `${all(longer / total)} on ${what}s of more than ${count(long)} tokens`;
  if (shorter / total >= MAINLY) return `${all(shorter / total)} on ${what}s of fewer than ${count(short)} tokens`;
  if (Math.min(longer, shorter) / total >= 0.15 && used >= 8) return `on ${what}s of every length`;
  return `on ${plural(used, what)}`;
}

/** The patterns that most maps of a set show, or that it shows them as all maps do. */
export function patterns(shares: { name: string; share: number; whole: number }[]): string {
  const apart = shares.reduce((sum, { share, whole }) => sum + Math.abs(share - whole), 0) / 2;
  if (shares.length > 1 && apart < 0.1) return "the same mix of patterns as in all maps";
  const top = [...shares].sort((a, b) => b.share - a.share);
  if (!top.length) return "";
  if (top[0].share >= MAINLY) return `${all(top[0].share)} ${quoted(top[0].name)}`;
  const two = top.slice(0, 2).map((one) => `${percent(one.share)} ${quoted(one.name)}`);
  return joinList(two);
}

/** Names hold commas: “far, broad”. */
const quoted = (name: string) => `“${name}”`;

/** “2,318 maps selected: 91 % ‘previous token’; 84 % from L0·H2 and L1·H7; on texts of every length.” */
export const setSentence = (subject: string, parts: string[]) => `${subject}: ${parts.filter(Boolean).join("; ")}.`;

/** One map and its neighbours on the plane: whether they show the same pattern, and from how many heads they come. */
export function mapSentence(
  subject: string,
  pattern: string,
  near: { maps: number; same: number; heads: number },
): string {
  const heads = near.heads === 1 ? "all from one head" : `from ${plural(near.heads, "head")}`;
  if (!pattern) return `${subject}: its ${near.maps} nearest maps come ${heads}.`;
  const same =
    near.same === near.maps
      ? `its ${near.maps} nearest maps are too`
      : `${near.same} of its ${near.maps} nearest maps are too`;
  return `${subject} is ${quoted(pattern)}: ${same}, ${heads}.`;
}
