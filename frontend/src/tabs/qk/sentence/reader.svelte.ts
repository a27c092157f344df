// The state of the views of one example: the head, its map, the vectors, and the pair of tokens that is looked at.
import { TEXT_FIELDS } from "../../../lib/keys";
import { resource } from "../../../lib/resource.svelte";
import { route } from "../../../lib/route.svelte";
import { headKey, selection, type HeadRef } from "../../../lib/selection.svelte";
import { fromPooled, reduce, type Seen } from "../../examples/reduce";
import { readPins, togglePin } from "../../examples/pins";
import { tints, type Focus } from "../../examples/tints";
import { shown } from "../../examples/tokens";
import type { QkView } from "../view.svelte";
import { open, type Opened } from "./load";
import { pairOf, strongestOf, weighted, type Pair } from "./pair";
import type { KeyRow } from "./strips";
import { dimensionOrder, extentsOf, largestProduct, productsOf, sumOf, type Order } from "./vectors";

const ROWS = 40; // keys whose products are listed

export class ReaderState {
  readonly #view: () => QkView;
  constructor(view: () => QkView) {
    this.#view = view;
  }
  get view() {
    return this.#view();
  }
  get atlas() {
    return this.view.atlas;
  }

  // — what is shown
  readonly place = $derived.by((): HeadRef => this.view.head ?? { layer: 0, head: 0 });
  readonly layer = $derived.by(() => this.atlas.model.layers[this.place.layer]);
  /** The token of the chosen point, if it is in the example that is shown. */
  readonly #chosen = $derived.by(() => {
    const { point, tokens } = this.view;
    return point >= 0 && tokens ? this.view.tokenOf(point) : null;
  });
  readonly drawn = $derived.by(() => [...new Set(this.view.tokens?.example ?? [])]);
  readonly number = $derived.by(() => {
    const { tokens } = this.view;
    const wanted = selection.example;
    if (wanted !== null && wanted >= 0 && wanted < this.atlas.data.examples) return wanted;
    return tokens ? (this.#chosen === null ? this.drawn[0] : tokens.example[this.#chosen]) : null;
  });
  readonly #loaded = resource((signal) => {
    const { number } = this;
    const [layer, head] = this.#key.split(".").map(Number);
    return number === null
      ? null
      : open(this.atlas, number, { layer, head }, signal).then((opened) => ({ number, opened }));
  });
  readonly #key = $derived.by(() => headKey(this.place)); // other changes of the place do not load again
  get error() {
    return this.#loaded.error;
  }
  get stale() {
    return this.#loaded.loading && !!this.#loaded.value;
  }
  readonly opened = $derived.by((): Opened | null => this.#loaded.value?.opened ?? null);
  readonly example = $derived.by(() => this.opened?.bundle.example);

  // — how it is shown
  readonly special = $derived.by(() => route.params.special !== "0");
  readonly order = $derived.by((): Order => (route.params.order === "product" ? "product" : "dimension"));
  readonly norms = $derived.by(() => (this.opened?.how === "pooled" ? null : (this.opened?.vectors?.norms ?? null)));
  readonly byNorm = $derived.by(() => route.params.weight === "norm" && !!this.norms);
  readonly what = $derived.by(() => (this.byNorm ? "attention × norm of the value" : "attention"));
  /** The map, without special tokens if they are hidden. */
  readonly plain = $derived.by((): Seen | null => {
    if (!this.opened) return null;
    const { mean, pooled, queries, keys } = this.opened.bundle;
    return pooled
      ? fromPooled(mean, pooled, queries, keys)
      : reduce(mean, queries, keys, { special: this.special, words: false });
  });
  readonly seen = $derived.by(
    (): Seen | null => this.plain && (this.byNorm ? weighted(this.plain, this.norms!) : this.plain),
  );
  readonly top = $derived.by(() => this.seen?.values.reduce((most, value) => Math.max(most, value), 0) ?? 0);

  // — what is pointed at
  hover = $state.raw<Focus | null>(null);
  keyHover = $state.raw<number | null>(null);
  marked = $state<number | null>(null);
  /** The pins of the address, or the token of the chosen point. */
  readonly pins = $derived.by((): (Focus | null)[] => {
    const { seen, view } = this;
    if (!seen) return [null, null];
    if (route.params.token) return readPins(route.params.token, seen);
    const token = this.#chosen;
    if (token === null || view.tokens?.example[token] !== this.number) return [null, null];
    return readPins(`${this.#asKey && !seen.same ? "k" : ""}${view.tokens.position[token]}`, seen);
  });
  readonly #asKey = $derived.by(() => this.view.point >= 0 && this.view.roleOf(this.view.point) === "key");
  readonly focus = $derived.by((): Focus | null => {
    const { seen, hover, pins } = this;
    const inside = seen && hover && (hover.query ?? 0) < seen.rows && (hover.key ?? 0) < seen.columns;
    return inside ? hover : pins[0];
  });
  readonly tint = $derived.by(() => (this.seen ? tints(this.seen, this.focus) : { at: null, by: null }));
  readonly pair = $derived.by((): Pair | null => {
    const { seen, pins, keyHover } = this;
    if (!seen) return null;
    const inside = this.focus === this.hover ? this.hover : null;
    const pair = pairOf(seen, pins, inside, this.#asKey && !route.params.token);
    return pair && keyHover !== null && keyHover < seen.columns ? { query: pair.query, key: keyHover } : pair;
  });
  pin(wanted: Focus, more = false) {
    if (this.seen) route.go({ params: { token: togglePin(this.seen, this.pins, wanted, more), point: null } });
  }
  /** Esc clears the pins. A dimension that arrow keys marked in the strips comes first: the strips clear it themselves. */
  escape = (event: KeyboardEvent) => {
    const within = (elements: string) => (event.target as HTMLElement).closest?.(elements);
    if (event.key !== "Escape" || !route.params.token || within(`${TEXT_FIELDS}, [role=menu]`)) return;
    if (this.marked !== null && within(".strips")) return;
    event.stopImmediatePropagation(); // the selection stays
    route.go({ params: { token: null } });
  };
  /** Pin the query that is shown, and a key. */
  pinKey(key: number) {
    const { seen, pair } = this;
    if (!seen || !pair) return;
    const token = (units: Seen["keys"], at: number) => units[at].tokens[0];
    const second = `${seen.same ? "" : "k"}${token(seen.keys, key)}`;
    route.go({ params: { token: `${token(seen.queries, pair.query)},${second}`, point: null } });
  }

  // — the pair, dimension by dimension
  readonly extents = $derived.by(() => (this.opened?.vectors ? extentsOf(this.opened.vectors) : null));
  /** The tokens of the pair; null if there are no vectors, or the map is pooled. */
  readonly tokens = $derived.by(() => {
    const { seen, pair, opened } = this;
    if (!seen || !pair || !opened?.vectors || opened.how === "pooled") return null;
    return { query: seen.queries[pair.query].tokens[0], key: seen.keys[pair.key].tokens[0] };
  });
  readonly products = $derived.by(
    () => this.tokens && productsOf(this.opened!.vectors!, this.tokens.query, this.tokens.key),
  );
  readonly largest = $derived.by(() =>
    this.tokens && this.extents ? largestProduct(this.opened!.vectors!, this.extents, this.tokens.query) : 0,
  );
  readonly dimensions = $derived.by(() => (this.products ? dimensionOrder(this.products, this.order) : []));
  /** Attention of the pair, without weights by norm. */
  readonly weight = $derived.by(() => {
    const { plain, pair } = this;
    return plain && pair ? plain.values[pair.query * plain.columns + pair.key] : 0;
  });
  readonly rows = $derived.by((): KeyRow[] => {
    const { seen, pair, opened, tokens } = this;
    if (!seen || !pair || !tokens) return [];
    const weight = (key: number) => seen.values[pair.query * seen.columns + key];
    const visible = (key: number) => !this.layer.causal || seen.keys[key].tokens[0] <= tokens.query;
    return seen.keys
      .map((_, key) => key)
      .filter(visible)
      .sort((a, b) => weight(b) - weight(a))
      .slice(0, ROWS)
      .sort((a, b) => a - b)
      .map((key) => {
        const products = productsOf(opened!.vectors!, tokens.query, seen.keys[key].tokens[0]);
        const { text, special } = seen.keys[key];
        return { key, text: shown(text, 24), special, products, score: sumOf(products), weight: weight(key) };
      });
  });
  readonly most = $derived.by(() => this.rows.reduce((most, { weight }) => Math.max(most, weight), 0));

  /** The key that a query attends to most. */
  strongest(query: number): number {
    const { seen } = this;
    return seen ? strongestOf(seen.values.subarray(query * seen.columns, (query + 1) * seen.columns)) : 0;
  }
}
