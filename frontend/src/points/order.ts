// The order in which points are drawn: a fixed shuffle. So the first K points are a random sample, which can be drawn
// while the camera moves, and no cluster covers the others.
import { UNPLACED } from "../lib/encoding";
import { DIMMED, HIDDEN, SELECTED } from "./style";

/** The points of a panel: a range, a list, or all. */
export type Group = { first: number; count: number } | Uint32Array | null;

/** A range of the vertex buffer with the points of one layer of one panel. */
export interface Run {
  panel: number;
  layer: number;
  first: number;
  count: number;
}

export interface DrawingOrder {
  /** The point at each index of the vertex buffer. */
  points: Uint32Array;
  /** From back to front: dimmed points of all panels, then normal, then selected ones. */
  runs: Run[];
}

export const LAYERS = 3; // dimmed, normal, selected

/** `count` integers from `first` in a reproducible random order. */
export function shuffled(count: number, first = 0): Uint32Array {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = first + i;
  return shuffle(order);
}

/** Fisher-Yates shuffle in place, with its own generator (mulberry32) to be reproducible. */
export function shuffle(order: Uint32Array): Uint32Array {
  let seed = 0x9e3779b9;
  for (let i = order.length - 1; i > 0; i--) {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    const j = Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * (i + 1));
    const swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
  return order;
}

/** The shuffled points of a group; `total` is the number of all points. */
export function members(group: Group, total: number): Uint32Array {
  if (group === null) return shuffled(total);
  if (group instanceof Uint32Array) return shuffle(group.slice());
  return shuffled(group.count, group.first);
}

const SKIPPED = 255;
const LAYER_OF = new Uint8Array(256).fill(1); // by state
LAYER_OF[DIMMED] = 0;
LAYER_OF[SELECTED] = 2;
LAYER_OF[HIDDEN] = SKIPPED;

/** The layer of each point. Unplaced and hidden points are skipped. */
function layersOf(positions: Uint16Array, state: Uint8Array | null): Uint8Array {
  const layers = new Uint8Array(positions.length >> 1).fill(1);
  for (let i = 0; i < layers.length; i++) {
    if (positions[2 * i] === UNPLACED) layers[i] = SKIPPED;
    else if (state !== null) layers[i] = LAYER_OF[state[i]];
  }
  return layers;
}

/** Whether the same points are placed in both arrays. */
export function samePlaced(positions: Uint16Array, others: Uint16Array): boolean {
  if (positions.length !== others.length) return false;
  for (let i = 0; i < positions.length; i += 2)
    if ((positions[i] === UNPLACED) !== (others[i] === UNPLACED)) return false;
  return true;
}

/** The points of every panel in three layers, each of them shuffled. */
export function drawingOrder(
  lists: readonly Uint32Array[],
  positions: Uint16Array,
  state: Uint8Array | null,
): DrawingOrder {
  const layers = layersOf(positions, state);
  const counts = lists.map((list) => countLayers(list, layers));
  const runs: Run[] = [];
  let end = 0;
  for (let layer = 0; layer < LAYERS; layer++) {
    counts.forEach((count, panel) => {
      if (count[layer] === 0) return;
      runs.push({ panel, layer, first: end, count: count[layer] });
      end += count[layer];
    });
  }
  const points = new Uint32Array(end);
  const starts = counts.map(() => new Uint32Array(LAYERS));
  for (const run of runs) starts[run.panel][run.layer] = run.first;
  lists.forEach((list, panel) => fill(points, list, layers, starts[panel]));
  return { points, runs };
}

function countLayers(list: Uint32Array, layers: Uint8Array): Uint32Array {
  const count = new Uint32Array(256);
  for (let k = 0; k < list.length; k++) count[layers[list[k]]]++;
  return count;
}

function fill(points: Uint32Array, list: Uint32Array, layers: Uint8Array, next: Uint32Array) {
  for (let k = 0; k < list.length; k++) {
    const layer = layers[list[k]];
    if (layer !== SKIPPED) points[next[layer]++] = list[k];
  }
}

/** Positions in drawing order; each pair is copied as one 32-bit number. */
export function gatherPairs(pairs: Uint16Array, order: Uint32Array): Uint16Array<ArrayBuffer> {
  const aligned = pairs.byteOffset % 4 === 0 ? pairs : pairs.slice();
  const pairsAs32 = new Uint32Array(aligned.buffer, aligned.byteOffset, pairs.length >> 1);
  const out = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = pairsAs32[order[i]];
  return new Uint16Array(out.buffer);
}

/** Color keys in drawing order. */
export function gatherKeys(keys: Uint8Array | Uint16Array, order: Uint32Array): Uint16Array<ArrayBuffer> {
  const out = new Uint16Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = keys[order[i]];
  return out;
}
