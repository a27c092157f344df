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

/** The maps of one head, on every example. */
export function ofHead(shape: Shape, { layer, head }: HeadRef): Uint32Array {
  const step = shape.layers * shape.heads;
  return Uint32Array.from({ length: shape.examples }, (_, example) => example * step + layer * shape.heads + head);
}

/** All maps of one example. */
export function ofExample(shape: Shape, example: number): Uint32Array {
  const step = shape.layers * shape.heads;
  return Uint32Array.from({ length: step }, (_, at) => example * step + at);
}

/** The maps with a value, such as a cluster's label. */
export function withValue(values: Uint16Array, value: number): Uint32Array {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i] === value) count++;
  const maps = new Uint32Array(count);
  for (let i = 0, at = 0; at < count; i++) if (values[i] === value) maps[at++] = i;
  return maps;
}

/** 1 for each map that exists: layers may have fewer heads, and a map may be unplaced. */
export function existing(positions: Uint16Array): Uint8Array {
  const out = new Uint8Array(positions.length >> 1);
  for (let i = 0; i < out.length; i++) out[i] = positions[2 * i] === UNPLACED ? 0 : 1;
  return out;
}

/** The maps of a list that exist. */
export const thatExist = (list: Uint32Array, exists: Uint8Array) => list.filter((index) => exists[index] === 1);
