// Sets of maps in words: what they have in common, and how far a projection can be trusted.
import { FAITHFUL, MOSTLY_FAITHFUL } from "../../generated/thresholds";
import type { HeadRef } from "../selection.svelte";
import { headName } from "./clusters";
import { count, joinList, percent, plural, ratio } from "./numbers";

const METHODS: Record<string, string> = { pca: "PCA", umap: "UMAP", tsne: "t-SNE" };

/** The usual name of a projection method. */
export const methodName = (method: string) => (Object.hasOwn(METHODS, method) ? METHODS[method] : method);

/** A projection by its method, and its name where that says more: `UMAP (wide)`. */
export const projectionName = ({ name, method }: { name: string; method: string }) =>
  name === method ? methodName(method) : `${methodName(method)} (${name})`;

/** Whether near points of a projection are alike. */
export function faithful(trustworthiness: number | null): string {
  if (trustworthiness === null) return "near points should look alike";
  const mostly = trustworthiness < MOSTLY_FAITHFUL ? "often do not look" : "mostly look";
  const how = trustworthiness >= FAITHFUL ? "look" : mostly;
  return `near points ${how} alike (trustworthiness ${ratio(trustworthiness)})`;
}

/** All maps of a projection: how many, and how far it can be trusted. */
export function wholeSentence(facts: {
  maps: number;
  heads: number;
  examples: number;
  modality: string;
  trustworthiness: number | null;
  patterns: number | null;
}): string {
  const { maps, heads, examples, modality, trustworthiness, patterns } = facts;
  const end = patterns === null ? "" : `; ${plural(patterns, "pattern")}`;
  return `${plural(maps, "map")} of ${plural(heads, "head")} on ${plural(examples, modality)}: ${faithful(trustworthiness)}${end}.`;
}

const all = (share: number) => (share === 1 ? "all" : percent(share));

/** Where maps come from: a few heads or layers that hold most of them, or many heads of some layers. */
export type Origin =
  | { kind: "heads"; heads: HeadRef[]; share: number }
  | { kind: "layers"; layers: number[]; share: number }
  | { kind: "many"; heads: number; first: number; last: number; everywhere: boolean }; // first and last layer

export function originText(origin: Origin): string {
  if (origin.kind === "heads") return `${all(origin.share)} from ${joinList(origin.heads.map(headName))}`;
  if (origin.kind === "layers")
    return `${all(origin.share)} from layer${origin.layers.length > 1 ? "s" : ""} ${joinList(origin.layers.map(String))}`;
  const { first, last } = origin;
  const some = first === last ? `layer ${first}` : `layers ${first} to ${last}`;
  return `from ${plural(origin.heads, "head")} of ${origin.everywhere ? "all layers" : some}`;
}

/** On which examples maps were seen. */
export type Inputs =
  | { kind: "one"; example: number }
  | { kind: "long" | "short"; share: number; tokens: number }
  | { kind: "every length" }
  | { kind: "some"; examples: number };

export function inputsText(inputs: Inputs, what: string): string {
  if (inputs.kind === "one") return `all on ${what} ${inputs.example}`;
  if (inputs.kind === "every length") return `on ${what}s of every length`;
  if (inputs.kind === "some") return `on ${plural(inputs.examples, what)}`;
  return `${all(inputs.share)} on ${what}s of ${inputs.kind === "long" ? "more" : "fewer"} than ${count(inputs.tokens)} tokens`;
}

/** The patterns that most maps of a set show; "same mix": in the same shares as all maps. */
export type Mixture = "same mix" | { name: string; share: number }[];

export const mixtureText = (mixture: Mixture) =>
  mixture === "same mix"
    ? "the same mix of patterns as in all maps"
    : joinList(mixture.map(({ name, share }) => `${all(share)} ${quoted(name)}`));

/** In quotes, since names contain commas: “far, broad”. */
const quoted = (name: string) => `“${name}”`;

/** What narrows the maps down, as words need it. */
export interface FilterFacts {
  head: HeadRef | null;
  pattern: string | null;
  example: number | null;
  query: string | null;
  lasso: boolean;
  saved?: string | null; // name of a selection
  categories: string[]; // that are checked in the legend
}

/** How many maps pass all filters, and which filters: `12 maps of L3·H5 on texts with “water”`. */
export function filteredText(maps: number, what: string, filters: FilterFacts): string {
  const { head, pattern, example, query, lasso, saved = null, categories } = filters;
  return [
    plural(maps, "map"),
    lasso ? "selected" : "",
    head ? `of ${headName(head)}` : "",
    pattern === null ? "" : `${head ? "that show" : "of"} ${quoted(pattern)}`,
    categories.length ? `in ${joinList(categories.map(quoted))}` : "",
    saved === null ? "" : `of the selection ${quoted(saved)}`,
    example === null ? "" : `on ${what} ${example}`,
    query === null ? "" : `on ${what}s with ${quoted(query.slice(0, 40))}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** `2,318 maps selected: 91% “previous token”; 84% from L0·H2 and L1·H7; on texts of every length.` */
export const setSentence = (subject: string, parts: string[]) => `${subject}: ${parts.filter(Boolean).join("; ")}.`;

/** How far the neighbors of a map on the plane are its neighbors by vectors: `agreed` of `shown` each way. */
export function agreementText(facts: { shown: number; onPlane: number; byVectors: number; of: number }): string {
  const { shown, onPlane, byVectors, of } = facts;
  if (onPlane === shown && byVectors === shown) return "Plane and vectors agree on its neighbors.";
  return `Of its ${shown} nearest on the plane, ${onPlane} are among its ${of} nearest by vectors; of its ${shown} nearest by vectors, ${byVectors} are among its ${of} nearest on the plane.`;
}

/** One map and its neighbors on the plane: whether they show the same pattern, and from how many heads they come. */
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
