// Indices of maps: ((example * layers) + layer) * heads + head, over the full grid.
import type { AtlasCard } from "../../lib/api";
import { UNPLACED } from "../../lib/encoding";
import type { HeadRef } from "../../lib/selection.svelte";

export interface Shape {
  examples: number;
  layers: number;
  heads: number;
}

export interface MapPlace extends HeadRef {
  example: number;
}

export const shapeOf = (atlas: AtlasCard): Shape => ({
  examples: atlas.data.examples,
  layers: atlas.model.layers.length,
  heads: atlas.model.heads,
});

export const sizeOf = (shape: Shape) => shape.examples * shape.layers * shape.heads;

export function placeOf(shape: Shape, index: number): MapPlace {
  const head = index % shape.heads;
  const rest = (index - head) / shape.heads;
  const layer = rest % shape.layers;
  return { example: (rest - layer) / shape.layers, layer, head };
}

export const indexOf = (shape: Shape, { example, layer, head }: MapPlace) =>
  (example * shape.layers + layer) * shape.heads + head;

/** The place of a head among the maps of an example. */
export const slotOf = (shape: Shape, { layer, head }: HeadRef) => layer * shape.heads + head;

/** The maps of one head, on every example. */
export function ofHead(shape: Shape, place: HeadRef): Uint32Array {
  const step = shape.layers * shape.heads;
  const slot = slotOf(shape, place);
  return Uint32Array.from({ length: shape.examples }, (_, example) => example * step + slot);
}

/** All maps of one example. */
export function ofExample(shape: Shape, example: number): Uint32Array {
  const step = shape.layers * shape.heads;
  return Uint32Array.from({ length: step }, (_, at) => example * step + at);
}

/** 1 for each map that exists: layers may have fewer heads, and a map may be unplaced. */
export function existing(positions: Uint16Array): Uint8Array {
  const out = new Uint8Array(positions.length >> 1);
  for (let i = 0; i < out.length; i++) out[i] = positions[2 * i] === UNPLACED ? 0 : 1;
  return out;
}

/** The maps of a saved selection, each once, in order; those of heads and examples included. */
export function membersOf(
  shape: Shape,
  { maps, heads, examples }: { maps: number[][]; heads: number[][]; examples: number[] },
): Uint32Array {
  const members = new Set(maps.map(([example, layer, head]) => indexOf(shape, { example, layer, head })));
  for (const [layer, head] of heads) for (const index of ofHead(shape, { layer, head })) members.add(index);
  for (const example of examples) for (const index of ofExample(shape, example)) members.add(index);
  const total = sizeOf(shape);
  return Uint32Array.from(members)
    .filter((index) => index < total)
    .sort();
}
