// One head among all: how unusual it is, its clusters over the data, and the way to the next head.
import { MASS, type Statistic } from "../../generated/statistics";
import type { AtlasCard, HeadRow, LayerCard } from "../../lib/api";
import { decodeLabel, MISSING, UNKNOWN } from "../../lib/encoding";
import type { HeadRef } from "../../lib/selection.svelte";
import { statistic } from "../../lib/statistics";
import type { Unusual } from "../../lib/unusual";
import { attends, type Measure } from "../../lib/wording";

export type Group = Statistic["about"];

export const groupOf = (name: string): Group => statistic(name)?.about ?? "position";

/** The value that measures what phrases say: the first of their statistics that is known, else the most unusual one. */
export function measureOf(
  atlas: AtlasCard,
  row: HeadRow,
  phrases: string[],
  first: Unusual | undefined,
): Measure | null {
  const indexOf = (name: string) => atlas.statistics.findIndex((card) => card.name === name);
  const behavior = attends(phrases);
  const measured = behavior?.statistics
    .find((names) => names.every((name) => row.mean[indexOf(name)] != null))
    ?.map(indexOf);
  const parts = measured ?? (first ? [first.statistic] : []);
  if (!parts.length) return null;
  const { plain, unit } = atlas.statistics[parts[0]];
  return {
    label: plain,
    value: parts.reduce((sum, part) => sum + row.mean[part]!, 0),
    deviation: row.deviation[parts[0]],
    parts: parts.length,
    target: measured !== undefined && behavior!.targets === 1 && unit === MASS,
  };
}

export const exists = (layers: LayerCard[], place: HeadRef) =>
  place.head >= 0 && place.head < (layers[place.layer]?.heads ?? 0);

/** The head an arrow key leads to: across in reading order, up and down to the same head of the next layer with it. */
export function walk(layers: LayerCard[], from: HeadRef, key: string): HeadRef | null {
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const along = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (across) {
    let { layer, head } = { ...from, head: from.head + across };
    while (layer >= 0 && layer < layers.length && !exists(layers, { layer, head })) {
      layer += across;
      head = across > 0 ? 0 : (layers[layer]?.heads ?? 0) - 1;
    }
    return exists(layers, { layer, head }) ? { layer, head } : null;
  }
  if (along)
    for (let layer = from.layer + along; layer >= 0 && layer < layers.length; layer += along)
      if (exists(layers, { layer, head: from.head })) return { layer, head: from.head };
  return null;
}

/** Heads that share keys and values with a head, without the head itself. */
export function sharing(layers: LayerCard[], place: HeadRef): HeadRef[] {
  const { heads, key_heads } = layers[place.layer];
  if (!key_heads || key_heads >= heads) return [];
  const size = heads / key_heads;
  const group = Math.floor(place.head / size);
  return Array.from({ length: heads }, (_, head) => ({ layer: place.layer, head })).filter(
    ({ head }) => head !== place.head && Math.floor(head / size) === group,
  );
}

/** Every `slots`-th value of a column, from `slot` on: one head over all examples. */
export function ofHead(column: Uint16Array, slots: number, slot: number): Uint16Array {
  const values = new Uint16Array(Math.floor(column.length / slots));
  for (let example = 0; example < values.length; example++) values[example] = column[example * slots + slot];
  return values;
}

/** How many examples are in each cluster, the largest first, noise last. */
export function tally(labels: Uint16Array): { cluster: number; maps: number }[] {
  const counts = new Map<number, number>();
  for (const label of labels) if (label !== MISSING) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts]
    .map(([label, maps]) => ({ cluster: decodeLabel(label)!, maps }))
    .sort((a, b) => Number(a.cluster < 0) - Number(b.cluster < 0) || b.maps - a.maps || a.cluster - b.cluster);
}

export interface Case {
  example: number;
  cluster: number;
  distance: number | null; // as encoded
}

/**
 * Examples on which a head does what it mostly does, and others.
 *
 * Typical ones are nearest to the center of its main cluster; unusual ones lie in other clusters, the rarest
 * first, then come those of the main cluster that are farthest from its center.
 */
export function cases(
  labels: Uint16Array,
  distances: Uint16Array | null,
  main: number,
  most: number,
): { typical: Case[]; unusual: Case[] } {
  const size = new Map(tally(labels).map(({ cluster, maps }) => [cluster, maps]));
  const near = collectFirst<Case>(most, (a, b) => (a.distance ?? UNKNOWN) - (b.distance ?? UNKNOWN));
  const far = collectFirst<Case>(2 * most, (a, b) => (b.distance ?? -1) - (a.distance ?? -1)); // some may be typical
  const other = collectFirst<Case>(
    most,
    (a, b) =>
      size.get(a.cluster)! - size.get(b.cluster)! || a.cluster - b.cluster || (b.distance ?? 0) - (a.distance ?? 0),
  );
  for (let example = 0; example < labels.length; example++) {
    const cluster = decodeLabel(labels[example]);
    if (cluster === null) continue;
    const distance = distances && distances[example] !== UNKNOWN ? distances[example] : null;
    const item = { example, cluster, distance };
    if (cluster !== main) other.add(item);
    else {
      near.add(item);
      if (distance !== null) far.add(item);
    }
  }
  const typical = new Set(near.items.map(({ example }) => example));
  return {
    typical: near.items,
    unusual: [...other.items, ...far.items.filter(({ example }) => !typical.has(example))].slice(0, most),
  };
}

/** Collects the first items of an order without sorting all; ties stay in the order they are added. */
function collectFirst<T>(most: number, order: (a: T, b: T) => number) {
  const items: T[] = [];
  const add = (item: T) => {
    if (items.length === most && order(item, items[most - 1]) >= 0) return;
    let place = items.length;
    while (place > 0 && order(item, items[place - 1]) < 0) place--;
    items.splice(place, 0, item);
    if (items.length > most) items.pop();
  };
  return { items, add };
}
