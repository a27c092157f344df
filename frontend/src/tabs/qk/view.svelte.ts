// Everything the tab derives from the address and the atlas: what is loaded, the head, the point, colors, found tokens.
import { paths } from "../../generated/paths";
import { buffer, get, type AtlasCard, type EmbeddedHead, type PointColumn } from "../../lib/api";
import { resource } from "../../lib/resource.svelte";
import { route } from "../../lib/route.svelte";
import { headKey, parseHead, selection, type HeadRef } from "../../lib/selection.svelte";
import { theme } from "../../lib/theme.svelte";
import { codedTokens, codedRoles, colorTable, type Coded } from "./coding";
import { findTokens, roleOf, tokenOf } from "./tokens";
import { viewById } from "./views";

export const MEASURES = ["norm", "trust", "kept"] as const; // of points, in every head
export type Measure = (typeof MEASURES)[number];

/** What the colors stand for: the role of a point, a column of its token, or a measure of the point in its head. */
export interface Meaning {
  name: string; // in the address
  label: string;
  group: string;
  definition: string;
  column: PointColumn | null;
  measure: Measure | null;
}

const ROLE: Meaning = {
  name: "role",
  label: "query or key",
  group: "",
  definition: "whether a point is the query or the key of its token",
  column: null,
  measure: null,
};

export class QkView {
  readonly #atlas: () => AtlasCard;
  constructor(atlas: () => AtlasCard) {
    this.#atlas = atlas;
  }
  get atlas() {
    return this.#atlas();
  }

  // — what is loaded
  /** Names of the plots that the atlas has; the last is the latest. */
  readonly names = $derived.by(
    () => this.atlas.stages.find(({ stage }) => stage === "qk")?.results.map(({ name }) => name) ?? [],
  );
  readonly name = $derived.by(() => {
    const { names } = this;
    return names.find((name) => name === route.params.by) ?? names[names.length - 1] ?? null;
  });
  readonly #card = resource(() => (this.name === null ? null : get.embedding(this.name)));
  readonly #tokens = resource(() =>
    this.name === null ? null : get.embeddedTokens(this.name).then((tokens) => ({ of: this.name, tokens })),
  );
  readonly card = $derived.by(() => (this.#card.value?.name === this.name ? this.#card.value : null));
  readonly tokens = $derived.by(() => (this.#tokens.value?.of === this.name ? this.#tokens.value.tokens : null));
  get error() {
    return this.#card.error ?? this.#tokens.error ?? this.#column.error;
  }
  readonly spec = $derived.by(() => viewById(route.params.view, this.atlas));

  // — what is chosen
  readonly requested = $derived.by(() => (route.item === null ? selection.head : parseHead(route.item)));
  /** The head; null if none is chosen, or the address names one that does not exist. */
  readonly head = $derived.by((): HeadRef | null => {
    const { requested } = this;
    const heads = requested && (this.atlas.model.layers[requested.layer]?.heads ?? 0);
    return requested && requested.head < (heads ?? 0) ? requested : null;
  });
  readonly facts = $derived.by((): EmbeddedHead | null => this.factsOf(this.head));
  /** The chosen point; -1: none. */
  readonly point = $derived.by(() => {
    const text = route.params.point ?? "";
    const point = /^\d{1,8}$/.test(text) ? Number(text) : -1;
    return this.card && point < 2 * this.card.tokens ? point : -1;
  });

  factsOf(head: HeadRef | null): EmbeddedHead | null {
    const same = (row: EmbeddedHead) => row.layer === head?.layer && row.head === head.head;
    return this.card?.heads.find(same) ?? null;
  }
  /** Choose a head: it is the one of every tab. */
  choose(head: HeadRef | null, params: Record<string, string | number | null> = {}, replace = false) {
    const key = head && headKey(head);
    route.go({ item: key, params: { head: key, ...params } }, { replace });
  }
  /** Choose a point, and with it the example of its token, which is the one of every tab. */
  choosePoint(point: number) {
    const { tokens, card } = this;
    if (!tokens || !card) return;
    const example = point < 0 ? undefined : tokens.example[tokenOf(point, card.tokens)];
    route.go({ params: { point: point < 0 ? null : point, ...(example === undefined ? {} : { example }) } });
  }
  roleOf = (point: number) => roleOf(point, this.card?.tokens ?? 1);
  tokenOf = (point: number) => tokenOf(point, this.card?.tokens ?? 1);

  // — colors
  readonly meanings = $derived.by((): Meaning[] => {
    const what = this.atlas.data.modality === "text" ? "Token" : "Patch";
    const columns = (this.card?.columns ?? []).map((column) => {
      const { name, label, definition } = column;
      return { name, label, group: what, definition, column, measure: null };
    });
    const measures: Record<Measure, [string, string]> = {
      norm: ["norm of the vector", "the norm of the query or key before translation and scaling"],
      trust: [
        "trust",
        "1: all neighbors of the point on the plot are near in the true space; 0.5: they might be any points",
      ],
      kept: ["kept neighbors", "the share of its true neighbors that are its neighbors on the plot"],
    };
    const points = MEASURES.map((measure) => {
      const [label, definition] = measures[measure];
      return { name: measure, label, group: "Point in its head", definition, column: null, measure };
    });
    return [ROLE, ...columns, ...points];
  });
  readonly meaning = $derived.by(() => this.meanings.find(({ name }) => name === route.params.color) ?? ROLE);
  readonly #column = resource(() => {
    const { meaning, name } = this;
    if (!meaning.column || name === null) return null;
    return buffer(paths.qkColumn({ embedding: name, column: meaning.column.name })).then((values) => ({
      of: name,
      meaning,
      values,
    }));
  });
  /** The color keys of tokens, by role or by a column; null while it loads, and for measures of points. */
  readonly coded = $derived.by((): Coded | null => {
    const { meaning, card } = this;
    if (!card || meaning.measure) return null;
    if (!meaning.column) return codedRoles(card.tokens);
    const loaded = this.#column.value;
    if (loaded?.of !== this.name || loaded.meaning.name !== meaning.name) return null;
    return codedTokens(loaded.values, meaning.column);
  });
  readonly paint = $derived.by(() => this.coded && colorTable(this.coded, theme.current));

  // — search
  readonly found = $derived.by(
    () => this.tokens && findTokens(this.tokens, route.params.q ?? "", route.params.part === "1"),
  );
  /** The selected example, if its tokens are drawn. */
  readonly example = $derived.by(() => {
    const { example } = selection;
    return example !== null && this.tokens?.example.includes(example) ? example : null;
  });
  readonly onlyExample = $derived.by(() => this.example !== null && route.params.just === "1");
  /** The tokens that stand out: those that were found, or of the example only; null: all alike. */
  readonly lit = $derived.by((): Uint32Array | null => {
    const { found, tokens, example } = this;
    const all = found?.tokens ?? null;
    if (!tokens || !this.onlyExample) return all;
    return (all ?? Uint32Array.from(tokens.example.keys())).filter((token) => tokens.example[token] === example);
  });
}
