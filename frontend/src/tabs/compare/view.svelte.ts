// What the Compare tab shows: a comparison, one of its steps, and the mean maps before and after. Create it while a
// component is initialized.
import { paths } from "../../generated/paths";
import { buffer, get, type AtlasCard, type ComparisonStep, type HeadShift } from "../../lib/api";
import { clusterNames } from "../../lib/clustering";
import { clamp } from "../../lib/math";
import { resource } from "../../lib/resource.svelte";
import { route } from "../../lib/route.svelte";
import { selection } from "../../lib/selection.svelte";
import { clusterName } from "../../lib/wording";

/** A step with its maps; they arrive together, so that a grid never mixes two steps. */
export interface Shown {
  of: string; // the comparison
  data: ComparisonStep;
  before: Uint16Array;
  after: Uint16Array;
}

async function load(of: string, step: number): Promise<Shown> {
  const maps = (model: number) => buffer(paths.compareMeans({ comparison: of, model }));
  const [data, before, after] = await Promise.all([get.comparisonStep(of, step), maps(0), maps(step)]);
  return { of, data, before, after };
}

export class CompareView {
  readonly #atlas: () => AtlasCard;
  constructor(atlas: () => AtlasCard) {
    this.#atlas = atlas;
  }

  readonly #listed = resource(() => get.comparisons());
  readonly #comparison = resource(() => (this.name === null ? null : get.comparison(this.name)));
  readonly #shown = resource(() => {
    const { name, step } = this;
    return name === null || !this.comparison ? null : load(name, step);
  });
  readonly #clusters = resource(() => {
    const of = this.comparison?.clustering ?? null;
    return of === null ? null : get.clusters(of);
  });

  /** All comparisons; undefined until they are loaded. */
  readonly listed = $derived.by(() => this.#listed.value);
  /** The comparison of the address, else the latest. */
  readonly name: string | null = $derived.by(() => {
    const names = this.listed?.comparisons.map(({ name }) => name) ?? [];
    return names.find((name) => name === route.item) ?? names.at(-1) ?? null;
  });
  readonly comparison = $derived.by(() =>
    this.#comparison.value?.name === this.name ? this.#comparison.value : undefined,
  );
  readonly models = $derived.by(() => this.comparison?.models ?? []);
  readonly steps = $derived.by(() => this.models.filter(({ role }) => role === "step"));
  readonly seeds = $derived.by(() => this.models.filter(({ role }) => role === "noise").length);
  /** The step of the address, else the last. */
  readonly step: number = $derived.by(() => {
    const last = Math.max(1, this.steps.length);
    return clamp(Math.round(Number(route.params.step)) || last, 1, last);
  });
  readonly shown = $derived.by(() => (this.#shown.value?.of === this.name ? this.#shown.value : undefined));
  readonly data = $derived.by(() => this.shown?.data);
  /** Whether another step than that of the address is still shown. */
  readonly busy = $derived.by(() => this.data !== undefined && this.data.step !== this.step);
  readonly heads = $derived.by((): HeadShift[] => this.data?.heads ?? []);
  readonly matched = $derived.by(() => this.comparison?.match === "function");
  readonly sameTokens = $derived.by(() => this.comparison?.same_tokens[(this.data?.step ?? 1) - 1] ?? true);
  readonly labels = $derived.by(() => ({
    before: this.models[0]?.label ?? "",
    after: this.models[this.data?.step ?? 1]?.label ?? "",
  }));
  readonly #names = $derived.by(() => clusterNames(this.#clusters.value?.clusters ?? []));
  readonly error = $derived.by(() => this.#listed.error ?? this.#comparison.error ?? this.#shown.error);

  /** The selected head, if the first model has it. */
  readonly selected = $derived.by(() => {
    const { head } = selection;
    return head && this.heads.find((row) => row.layer === head.layer && row.head === head.head);
  });

  patternName(cluster: number): string {
    return this.#names.get(cluster) ?? clusterName(cluster, null);
  }

  /** A statistic in plain words. */
  plain(name: string): string {
    return this.comparison?.statistics.find((card) => card.name === name)?.plain ?? name;
  }

  /** Where the maps of a head lie in the buffers before and after; null: it has no counterpart. */
  slots({ layer, head, other_layer, other_head }: HeadShift): { before: number; after: number | null } {
    const across = this.comparison?.across ?? 1;
    const after = other_layer === null || other_head === null ? null : other_layer * across + other_head;
    return { before: layer * across + head, after };
  }

  /** The map of a slot. */
  map(maps: Uint16Array | undefined, slot: number | null): Uint16Array | undefined {
    const size = this.#atlas().resolution ** 2;
    return slot === null ? undefined : maps?.subarray(slot * size, (slot + 1) * size);
  }
}
