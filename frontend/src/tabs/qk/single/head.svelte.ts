// What the view of one head derives from the address and the state of the tab.
import { MISPLACED } from "../../../generated/thresholds";
import { paths } from "../../../generated/paths";
import { buffer, get, type Honesty } from "../../../lib/api";
import { resource } from "../../../lib/resource.svelte";
import { route } from "../../../lib/route.svelte";
import { headKey, type HeadRef } from "../../../lib/selection.svelte";
import { theme } from "../../../lib/theme.svelte";
import { shuffled } from "../../../points/order";
import { gridOf } from "../../../points/pick";
import { readPolygon } from "../../../points/polygon";
import { codedAmounts, colorTable, pointKeys, type Coded } from "../coding";
import { shownText } from "../tokens";
import type { Measure, QkView } from "../view.svelte";
import { keysOf, queriesOf, type Link } from "./links";
import { farApart } from "./near";
import { common, misplacedPoints, misplacedShare, pointStates, pointsOf } from "./states";
import { START, turned, type Turn } from "./turn";

const LABELED = 36; // points that may get a label …
const CANDIDATES = 1_200; // … of so many

/** Something loaded for a head of a plot. */
interface Loaded<T> {
  of: string;
  value: T;
}

export class HeadView {
  readonly #tab: () => QkView;
  readonly #turn: () => Turn | null;
  constructor(tab: () => QkView, turn: () => Turn | null) {
    this.#tab = tab;
    this.#turn = turn;
  }
  get tab() {
    return this.#tab();
  }

  /** The head: the chosen one, or the first. */
  readonly place = $derived.by((): HeadRef => {
    const first = this.tab.atlas.model.layers.findIndex(({ heads }) => heads > 0);
    return this.tab.head ?? { layer: Math.max(0, first), head: 0 };
  });
  readonly #key = $derived.by(() => `${this.tab.name}/${headKey(this.place)}`);
  readonly facts = $derived.by(() => this.tab.factsOf(this.place));
  readonly three = $derived.by(() => this.tab.card?.dims === 3);

  // — what is loaded
  #load<T>(load: (embedding: string, place: HeadRef) => Promise<T> | null) {
    const loaded = resource(() => {
      const { name } = this.tab;
      const key = this.#key;
      const loading = name === null ? null : load(name, this.place);
      return loading && loading.then((value): Loaded<T> => ({ of: key, value }));
    });
    return {
      get: () => (loaded.value?.of === this.#key ? loaded.value.value : null),
      error: () => loaded.error,
    };
  }
  #part(values: Uint16Array, { head }: HeadRef) {
    const size = values.length / this.tab.atlas.model.heads;
    return values.slice(head * size, (head + 1) * size);
  }
  readonly #positions = this.#load((embedding, place) =>
    buffer(paths.qkPositions({ embedding, layer: place.layer })).then((values) => this.#part(values, place)),
  );
  readonly #trust = this.#load((embedding, place) =>
    buffer(paths.qkAmounts({ embedding, measure: "trust", layer: place.layer })).then((values) =>
      this.#part(values, place),
    ),
  );
  readonly #measured = this.#load((embedding, place) => {
    const { measure } = this.tab.meaning;
    if (!measure) return null;
    return buffer(paths.qkAmounts({ embedding, measure, layer: place.layer })).then((values) => ({
      measure,
      values: this.#part(values, place),
    }));
  });
  readonly #honesty = this.#load((embedding, place) => get.honesty(embedding, place));
  readonly #keys = this.#load((embedding, place) => buffer(paths.qkKeys({ embedding, ...place })));
  get error() {
    return this.#positions.error() ?? this.#trust.error() ?? this.#measured.error() ?? this.#keys.error();
  }

  readonly positions = $derived.by(() => this.#positions.get()); // with all axes
  readonly trust = $derived.by(() => this.#trust.get());
  readonly honesty = $derived.by((): Honesty | null => this.#honesty.get());
  readonly honestyError = $derived.by(() => this.#honesty.error());
  readonly pairs = $derived.by(() => {
    const { positions, three } = this;
    return positions && (three ? turned(positions, this.#turn() ?? START) : positions);
  });

  // — colors
  readonly coded = $derived.by((): Coded | null => {
    const { card, meaning, coded } = this.tab;
    if (!meaning.measure) return coded;
    const loaded = this.#measured.get();
    if (!card || loaded?.measure !== (meaning.measure satisfies Measure)) return null;
    const [low, high] = meaning.measure === "norm" ? [card.norm_low, card.norm_high] : [0, 1];
    return codedAmounts(loaded.values, low, high);
  });
  readonly paint = $derived.by(() => this.coded && colorTable(this.coded, theme.current));
  readonly keys = $derived.by(() => {
    const { coded, tab } = this;
    if (!coded) return null;
    if (!tab.meaning.measure) return pointKeys(coded);
    const half = coded.keys.length / 2;
    return coded.keys.map((key, point) => (point < half ? key : key + coded.size));
  });

  // — which points stand out
  readonly least = $derived.by(() => {
    const text = route.params.fade ?? "";
    return /^\d{1,3}$/.test(text) ? Math.min(100, Number(text)) / 100 : MISPLACED;
  });
  readonly misplaced = $derived.by(() => this.trust && misplacedPoints(this.trust, this.least));
  readonly share = $derived.by(() => this.trust && misplacedShare(this.trust, this.least));
  readonly lasso = $derived.by(() => readPolygon(route.params.lasso));
  readonly #inside = $derived.by(() => (this.pairs && this.lasso ? gridOf(this.pairs).inside(this.lasso) : null));
  readonly #lit = $derived.by(() => {
    const { lit, card } = this.tab;
    return lit && card && pointsOf(lit, card.tokens);
  });
  /** The points of the lasso, of the search and of the example; null without any. */
  readonly picked = $derived.by(() => common(this.#inside, this.#lit));
  readonly states = $derived.by(() => this.pairs && pointStates(this.pairs.length / 2, this.picked, this.misplaced));

  // — what is written and drawn over the points
  readonly labels = $derived.by(() => {
    const { pairs, misplaced, picked, tab } = this;
    if (!pairs || !tab.tokens || route.params.names === "0" || tab.atlas.data.modality !== "text") return [];
    const { tokens } = tab;
    const order = picked ?? shuffled(pairs.length / 2).filter((point) => !misplaced?.[point]);
    const ends = this.lines.flatMap(({ from, to }) => [from, to]);
    const others = farApart(pairs, order.slice(0, CANDIDATES), LABELED);
    return [...new Set([...ends, ...others])].slice(0, LABELED).map((point) => ({
      x: pairs[2 * point],
      y: pairs[2 * point + 1],
      text: shownText(tokens.texts[tokens.text[tab.tokenOf(point)]]),
      number: null,
    }));
  });
  /** Where the attention of the chosen query goes, or that to the chosen key comes from; null while it loads. */
  readonly links = $derived.by((): Link[] | null => {
    const { point, tokens } = this.tab;
    const buffer = this.#keys.get();
    if (point < 0 || !tokens || !buffer) return null;
    return (this.tab.roleOf(point) === "query" ? keysOf : queriesOf)(buffer, tokens, this.tab.tokenOf(point));
  });
  readonly lines = $derived.by(() => {
    const total = this.tab.card?.tokens ?? 0;
    return (this.links ?? []).map(({ query, key, weight }) => ({ from: query, to: total + key, weight }));
  });
}
