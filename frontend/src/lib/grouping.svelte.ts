// The current clustering at the current level: what Overview, Maps and Clusters show. A clustering that is not a tree has
// one level. Create it while a component is initialized.
import { paths } from "../generated/paths";
import { buffer, get, type AtlasCard, type ClusteringCard } from "./api";
import { currentClustering } from "./clustering";
import { countHeads, countLeaves, countRanges, type LeafCounts } from "./counts";
import { clustersAt, cutAt, labelsOf, readLevel, shadesOf } from "./levels";
import { resource } from "./resource.svelte";
import { route } from "./route.svelte";
import { shading } from "./shading.svelte";

const BURST = 1000; // milliseconds: changes of the level in quick succession are one step back
let changed = -Infinity;

/** Go to another level; the default one is not in the address. */
export function showLevel(level: number, { clusters }: ClusteringCard) {
  const replace = performance.now() - changed < BURST;
  changed = performance.now();
  route.go({ params: { level: level === clusters ? null : level } }, { replace });
}

async function loadTree(of: string) {
  const tree = await get.tree(of);
  shading.show(shadesOf(tree));
  return tree;
}

const counted = new WeakMap<Uint16Array, LeafCounts>(); // of the leaves of all maps, which do not depend on the level

function leafCounts(leaves: Uint16Array, slots: number, count: number): LeafCounts {
  if (!counted.has(leaves)) counted.set(leaves, countLeaves(leaves, slots, count));
  return counted.get(leaves)!;
}

export class Grouping {
  readonly #atlas: () => AtlasCard;
  readonly #counting: (card: ClusteringCard) => boolean;

  /** `counting`: whether the labels of a clustering that is not a tree are needed. */
  constructor(atlas: () => AtlasCard, counting: (card: ClusteringCard) => boolean = () => true) {
    this.#atlas = atlas;
    this.#counting = counting;
  }

  readonly of = $derived.by(() => currentClustering(this.#atlas()));
  readonly card = $derived.by(() => this.#atlas().clusterings.find(({ name }) => name === this.of) ?? null);
  readonly slots = $derived.by(() => this.#atlas().model.layers.length * this.#atlas().model.heads);
  readonly level = $derived.by(() => this.card && readLevel(route.params.level, this.card));
  readonly isDefault = $derived.by(() => this.level === (this.card?.clusters ?? null));

  readonly #flat = resource(() => (this.of === null ? null : get.clusters(this.of)));
  readonly #tree = resource(() => (this.card && this.card.finest !== null ? loadTree(this.card.name) : null));
  readonly #codes = resource(() => {
    const { card } = this;
    if (!card || (card.finest === null && !this.#counting(card))) return null;
    const column =
      card.finest === null
        ? get.clusters(card.name).then(({ labels }) => labels)
        : get.tree(card.name).then(({ leaves }) => leaves);
    return column.then(async (name) => ({ of: card.name, values: await buffer(paths.column({ column: name })) }));
  });

  // only data of the current clustering is used: labels of another would be counted under the wrong names
  /** The clusters of the default level. */
  readonly flat = $derived.by(() => (this.#flat.value?.clustering === this.of ? this.#flat.value : undefined));
  readonly tree = $derived.by(() => (this.#tree.value?.clustering === this.of ? this.#tree.value : undefined));
  readonly #values = $derived.by(() => (this.#codes.value?.of === this.of ? this.#codes.value.values : undefined));
  /** The leaf of each map, if there is a tree. */
  readonly leaves = $derived.by(() => (this.tree ? this.#values : undefined));
  readonly error = $derived.by(() => this.#flat.error ?? this.#tree.error ?? this.#codes.error);

  /** Maps of each head in each leaf. */
  readonly leafCounts = $derived.by(
    () => this.tree && this.leaves && leafCounts(this.leaves, this.slots, this.tree.nodes[0].last_leaf + 1),
  );
  /** The nodes that are the patterns at the level, in the order of `clusters`; none without a tree. */
  readonly cut = $derived.by(() => (this.tree && this.level !== null ? cutAt(this.tree, this.level) : []));
  /** Maps of each head in each pattern, in the order of `clusters`. */
  readonly counts = $derived.by(() => {
    if (this.leafCounts) return countRanges(this.leafCounts, this.cut);
    const values = this.card?.finest === null ? this.#values : undefined;
    return (
      this.flat &&
      values &&
      countHeads(
        values,
        this.slots,
        this.flat.clusters.map((row) => row.cluster),
      )
    );
  });
  readonly clusters = $derived.by(() => {
    const { flat, tree, level, counts } = this;
    if (this.isDefault) return flat;
    if (!flat || !tree || !counts || level === null) return undefined;
    return clustersAt(flat, tree, level, counts, this.#atlas().model.heads);
  });
  /** The pattern of each map. */
  readonly labels = $derived.by(() =>
    this.card?.finest === null ? this.#values : this.leaves && labelsOf(this.leaves, this.cut),
  );
}
