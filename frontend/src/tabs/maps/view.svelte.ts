// Everything the tab derives from the URL and the atlas: loaded data, colors, picked and selected maps.
import { paths } from "../../generated/paths";
import { buffer, get, type AtlasCard, type ColumnCard } from "../../lib/api";
import { clusterNames } from "../../lib/clustering";
import { CODES, decodeAmount, decodeLabel, encodeLabel, UNKNOWN } from "../../lib/encoding";
import { Grouping } from "../../lib/grouping.svelte";
import { names } from "../../lib/names.svelte";
import { resource } from "../../lib/resource.svelte";
import { route } from "../../lib/route.svelte";
import { matches } from "../../lib/search";
import { selection } from "../../lib/selection.svelte";
import { theme } from "../../lib/theme.svelte";
import { amount, kindNames } from "../../lib/wording";
import { warpPolygon, cachedQuantileLayout, layoutTicks, type Axes } from "../../points/quantile";
import { gridOf } from "../../points/pick";
import { amounted, categorical, colored, expanded, leveled, positional, tally, type Coded } from "./coding";
import { picked, readLasso, readNumbers, states } from "./picking";
import { existing, indexOf, membersOf, shapeOf } from "./places";
import { sources } from "./sources";
import { factorsOf } from "./spread";
import { middles, nodeMiddles } from "./typical";

/** What the colors stand for. */
export interface Meaning {
  name: string; // in the URL
  label: string;
  group: string;
  card: ColumnCard | null; // null: layer or head
}

/** What can narrow the maps down. All active filters apply together. */
export type Filter = "head" | "cluster" | "example" | "saved" | "lasso" | "search" | "only";

/** The set of maps described at the side, and the filters that chose it. */
export interface Described {
  maps: Uint32Array;
  by: readonly Filter[];
}

const NONE = new Uint16Array(0);
const BLANK: Coded = { level: "map", keys: NONE, size: 1, categories: null, amounts: null, ordered: false }; // all gray
const GROUPS: Record<ColumnCard["group"], string> = {
  clusters: "Clusters",
  statistics: "Statistics",
  projection: "Projection",
  examples: "",
};

export class MapsView {
  readonly #atlas: () => AtlasCard;
  constructor(atlas: () => AtlasCard) {
    this.#atlas = atlas;
  }
  get atlas() {
    return this.#atlas();
  }

  // — what is loaded
  readonly shape = $derived.by(() => shapeOf(this.atlas));
  readonly grouping = new Grouping(() => this.atlas);
  readonly of = $derived.by(() => this.grouping.of);
  readonly projection = $derived.by(() => {
    const all = this.atlas.projections;
    const best = [...all].sort((a, b) => (b.trustworthiness ?? 0) - (a.trustworthiness ?? 0))[0];
    return all.find((card) => card.name === route.params.projection) ?? best ?? null;
  });
  readonly meanings = $derived.by((): Meaning[] => {
    const cards = this.atlas.columns.map((card) => {
      const group =
        card.group === "examples" ? (this.atlas.data.modality === "text" ? "Texts" : "Images") : GROUPS[card.group];
      return { name: card.name, label: card.label, group, card };
    });
    const places = [
      ["layer", "Layer"],
      ["head", "Head within the layer"],
    ].map(([name, label]) => ({ name, label, group: "Place", card: null }));
    return [
      ...cards.filter((meaning) => meaning.group === "Clusters"),
      ...places,
      ...cards.filter((meaning) => meaning.group !== "Clusters"),
    ];
  });
  readonly meaning = $derived.by(() => {
    const find = (name: string | undefined) => this.meanings.find((meaning) => meaning.name === name);
    return find(route.params.color) ?? find(`cluster.${this.of}`) ?? find("layer")!;
  });

  readonly #places = resource(() =>
    this.projection ? buffer(paths.positions({ projection: this.projection.name })) : null,
  );
  readonly #column = resource(() => {
    const { card } = this.meaning;
    return card && buffer(paths.column({ column: card.slug })).then((values) => ({ card, values }));
  });
  readonly #examples = resource(() => get.examples());
  readonly #matches = resource(() => {
    const q = (route.params.q ?? "").trim();
    if (!q) return null;
    // images have no texts: their ids are searched
    return Promise.all([get.examples(), get.texts().catch(() => ({ text: [] }))]).then(([{ id }, { text }]) =>
      matches(q, id, text),
    );
  });

  get error() {
    return (
      this.#places.error ?? this.#column.error ?? this.grouping.error ?? this.#examples.error ?? this.#matches.error
    );
  }
  get examples() {
    return this.#examples.value;
  }
  get clusters() {
    return this.grouping.clusters?.clusters ?? [];
  }
  get labels() {
    return this.grouping.labels ?? null;
  }
  readonly positions = $derived.by(() => this.#places.value ?? NONE);
  /** Axes of the plot. Neighbors are always computed from `positions`; quantile axes only change how they are drawn. */
  readonly axes = $derived.by((): Axes => (route.params.axes === "quantile" ? "quantile" : "linear"));
  readonly quantile = $derived.by(() =>
    this.axes === "quantile" && this.positions.length ? cachedQuantileLayout(this.positions) : null,
  );
  readonly places = $derived.by(() => this.quantile?.positions ?? this.positions);
  readonly ticks = $derived.by(() =>
    this.quantile && this.projection ? layoutTicks(this.quantile, this.projection.scale) : null,
  );
  readonly exists = $derived.by(() => existing(this.positions));
  readonly everyMap = $derived.by(() => picked(this.shape, this.exists, {}));
  readonly total = $derived.by(() => this.everyMap.length);
  readonly names = $derived.by(() => clusterNames(this.clusters));

  // — colors
  readonly coded = $derived.by((): Coded | null => {
    const { meaning, shape, exists } = this;
    if (!exists.length) return null;
    if (meaning.card === null) return meaning.name === "layer" ? this.layers : this.place("head");
    const column = this.#column.value;
    if (!column) return null;
    const { card, values } = column;
    const { flat } = this.grouping;
    if (card.slug === flat?.labels) return this.patterns;
    if (card.encoding === "amount") return amounted(values, card, shape, exists);
    const noise = card.encoding === "label" ? "noise" : "unknown";
    return categorical(
      values,
      card.level,
      (n) =>
        n < 0
          ? noise
          : names.pattern(card.name.replace(/^cluster\./, ""), n)?.name || (card.categories[n] ?? `cluster ${n}`),
      shape,
      exists,
    );
  });
  /** What the colors currently stand for: the previous meaning stays until the new column has loaded. */
  readonly shown = $derived.by(() => {
    const card = this.#column.value?.card;
    return this.meaning.card === null
      ? this.meaning
      : (this.meanings.find((meaning) => card && meaning.card === card) ?? this.meaning);
  });
  readonly keys = $derived.by(() =>
    this.coded ? expanded(this.coded, this.shape) : new Uint16Array(this.exists.length),
  );
  readonly paint = $derived.by(() => colored(this.coded ?? BLANK, theme.current));
  readonly #leafCounts = $derived.by(() => {
    const { leaves } = this.grouping;
    return leaves && this.exists.length
      ? tally({ keys: leaves, level: "map", size: CODES }, this.shape, this.exists)
      : null;
  });
  /** The clusters of the current clustering, at the current level, whatever the colors stand for. */
  readonly patterns = $derived.by(() => {
    const { leaves, cut, card, labels } = this.grouping;
    if (leaves && this.#leafCounts) return leveled(leaves, this.#leafCounts, cut);
    if (card?.finest !== null || !labels || !this.exists.length) return null;
    const name = (n: number) => this.names.get(n) ?? (n < 0 ? "noise" : `cluster ${n}`);
    return categorical(labels, "map", name, this.shape, this.exists);
  });
  readonly #leafMiddles = $derived.by(() => {
    const { leaves, tree } = this.grouping;
    return leaves && tree ? middles(this.positions, leaves, tree.nodes[0].last_leaf + 1) : null;
  });
  /** Where the name of each pattern is written, by key. */
  readonly middles = $derived.by(() => {
    if (!this.patterns) return [];
    if (this.#leafMiddles && this.#leafCounts)
      return nodeMiddles(this.#leafMiddles, this.#leafCounts, this.grouping.cut);
    return middles(this.positions, this.patterns.keys, this.patterns.size);
  });
  /** Lengths and dataset columns of the examples. */
  readonly factors = $derived.by(() =>
    this.examples && this.exists.length ? factorsOf(this.atlas.columns, this.examples, this.shape, this.exists) : [],
  );
  readonly layers = $derived.by(() => this.place("layer"));
  readonly totals = $derived.by(() => sources(this.shape, this.everyMap));
  place(what: "layer" | "head"): Coded {
    const { layers } = this.atlas.model;
    const kinds = new Set(layers.map((layer) => layer.kind)).size > 1;
    const name = (n: number) =>
      what === "head" ? `Head ${n}` : `Layer ${n}${kinds ? `, ${kindNames[layers[n].kind]}` : ""}`;
    return positional(what, name, this.shape, this.exists);
  }

  /** The value that a map is colored by, as text. */
  valueOf(index: number): string {
    const column = this.#column.value;
    const { shown, coded, keys } = this;
    if (!coded) return "";
    if (coded.categories) return coded.categories.find((category) => category.key === keys[index])?.name ?? "";
    if (!column || column.card !== shown.card) return "";
    const at = column.card.level === "map" ? index : Math.floor(index / (this.shape.layers * this.shape.heads));
    return column.values[at] === UNKNOWN ? "unknown" : amount(decodeAmount(column.values[at], column.card));
  }

  /** The name of a map's cluster. */
  nameOf(index: number): string {
    const cluster = this.labels ? decodeLabel(this.labels[index]) : null;
    return cluster === null ? "" : (this.names.get(cluster) ?? (cluster < 0 ? "noise" : `cluster ${cluster}`));
  }

  // — what is picked
  readonly lasso = $derived.by(() => readLasso(route.params.lasso));
  /** The lasso on the current axes. */
  readonly outline = $derived.by(() => {
    const { lasso, axes, positions } = this;
    if (!lasso || lasso.axes === axes || !positions.length) return lasso?.polygon ?? null;
    const { toQuantile, toLinear } = cachedQuantileLayout(positions);
    return warpPolygon(lasso.polygon, axes === "quantile" ? toQuantile : toLinear);
  });
  /** Categories that are checked; those of another level of the tree are ignored. */
  readonly only = $derived.by(() => {
    const numbers = new Set(this.coded?.categories?.map(({ number }) => number));
    return readNumbers(route.params.only).filter((number) => numbers.has(number));
  });
  /** Their names. */
  readonly checked = $derived.by(() =>
    this.only.map((number) => this.coded!.categories!.find((category) => category.number === number)!.name),
  );
  /** Examples that match the search; null without a search. */
  readonly matchingExamples = $derived.by(() => (route.params.q?.trim() ? (this.#matches.value ?? []) : null));
  readonly searching = $derived.by(() => this.#matches.loading);
  /** The saved selection that the address names. */
  readonly saved = $derived.by(() => names.notes.selections.find(({ name }) => name === route.params.saved) ?? null);
  readonly #savedMaps = $derived.by(() => this.saved && membersOf(this.shape, this.saved));
  readonly #inLasso = $derived.by(() => {
    const { lasso, positions } = this; // tested on the axes it was drawn on, whatever axes are shown
    if (!lasso || !positions.length) return null;
    return gridOf(lasso.axes === "quantile" ? cachedQuantileLayout(positions).positions : positions).inside(
      lasso.polygon,
    );
  });
  readonly #inside = $derived.by(() => {
    const [saved, lasso] = [this.#savedMaps, this.#inLasso];
    if (!saved || !lasso) return saved ?? lasso;
    const members = new Set(saved);
    return lasso.filter((index) => members.has(index));
  });

  // — what is selected
  readonly head = $derived.by(() => {
    const place = selection.head;
    return place && place.head < (this.atlas.model.layers[place.layer]?.heads ?? 0) ? place : null;
  });
  readonly example = $derived.by(() => {
    const number = selection.example;
    return number !== null && number >= 0 && number < this.shape.examples ? number : null;
  });
  readonly cluster = $derived.by(() =>
    selection.cluster !== null && this.names.has(selection.cluster) ? selection.cluster : null,
  );
  /** The selected map: a head and an example together are a point of their own, not two filters. */
  readonly map = $derived.by(() => {
    const { head, example } = this;
    const index = head && example !== null ? indexOf(this.shape, { ...head, example }) : -1;
    return index >= 0 && this.exists[index] ? index : -1;
  });

  // — what is shown
  readonly filters = $derived.by((): Filter[] => {
    const { head, cluster, example, lasso, matchingExamples, only, labels } = this;
    const chosen = this.map < 0;
    const active: Record<Filter, boolean> = {
      head: chosen && head !== null,
      cluster: chosen && cluster !== null && labels !== null,
      example: chosen && example !== null,
      saved: this.saved !== null,
      lasso: lasso !== null,
      search: matchingExamples !== null,
      only: only.length > 0,
    };
    return (Object.keys(active) as Filter[]).filter((name) => active[name]);
  });
  /** The maps that pass all filters; null without one. */
  readonly pick = $derived.by((): Uint32Array | null => {
    const { filters, matchingExamples, only, coded, shape, exists, keys } = this;
    if (!exists.length || !filters.length) return null;
    const flagged = (size: number, numbers: Iterable<number>) => {
      const flags = new Uint8Array(size);
      for (const n of numbers) flags[n] = 1;
      return flags;
    };
    const checked =
      coded?.categories?.filter((category) => only.includes(category.number)).map((category) => category.key) ?? [];
    const has = (name: Filter) => filters.includes(name);
    return picked(shape, exists, {
      head: has("head") ? this.head : null,
      example: has("example") ? this.example : null,
      labels: has("cluster") ? this.labels : null,
      label: this.cluster === null ? null : encodeLabel(this.cluster),
      inside: this.#inside,
      examples: matchingExamples && flagged(shape.examples, matchingExamples),
      keys: has("only") ? keys : null,
      chosen: has("only") && coded ? flagged(coded.size, checked) : null,
    });
  });
  readonly state = $derived.by(() => {
    const { exists, pick, filters, map, head, shape } = this;
    if (!exists.length) return null;
    const inFront = filters.some((name) => name === "head" || name === "cluster" || name === "example");
    if (pick) return states(exists.length, pick, inFront ? pick : null);
    return states(exists.length, null, map >= 0 && head ? picked(shape, exists, { head }) : null);
  });
  readonly described = $derived.by((): Described | null => this.pick && { maps: this.pick, by: this.filters });
}
