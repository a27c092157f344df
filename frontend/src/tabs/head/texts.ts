// The table of a head's texts: which columns it has, in the address and as values.
import type { AtlasCard, ColumnCard } from "../../lib/api";
import { decodeAmount } from "../../lib/encoding";
import { ofHead } from "./head";

const MOST = 6; // statistics side by side

/** Columns with a number for each map that texts can be sorted by: statistics, and what the clustering measures. */
export const measures = (atlas: AtlasCard, clustering: string | null): ColumnCard[] =>
  atlas.columns.filter(
    ({ name, group, kind }) =>
      kind === "number" && (group === "statistics" || (group === "clusters" && name.endsWith(`.${clustering}`))),
  );

/** The chosen ones: those of the address, in its order, else the first of `usual`. */
export function chosenMeasures(cards: ColumnCard[], slugs: string | undefined, usual: string[]): ColumnCard[] {
  const named = (list: string[], key: "slug" | "name") =>
    list.flatMap((text) => cards.find((card) => card[key] === text) ?? []);
  const chosen = named([...new Set((slugs ?? "").split(","))], "slug");
  return (chosen.length ? chosen : named(usual, "name")).slice(0, MOST);
}

/** The address after a statistic was added, or removed; the last one stays. */
export function withMeasure(chosen: ColumnCard[], card: ColumnCard): string {
  const rest = chosen.filter((other) => other !== card);
  const next = rest.length < chosen.length ? rest : [...chosen.slice(0, MOST - 1), card];
  return (next.length ? next : chosen).map(({ slug }) => slug).join(",");
}

/** The values of one head on every example; NaN where unknown. */
export const valuesOf = (column: Uint16Array, card: ColumnCard, slots: number, slot: number): Float64Array =>
  Float64Array.from(ofHead(column, slots, slot), (value) => decodeAmount(value, card));
