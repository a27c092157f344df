// The order in which points are drawn. It is a fixed shuffle, for two reasons: the first K points are a fair sample of
// all, so that a part can be drawn while the camera moves; and no cluster lies always above the others.
import { UNPLACED } from "../lib/encoding";
import { DIMMED, HIDDEN, SELECTED } from "./style";

/** Which points a panel shows: a run of them, a list of them, or all. */
export type Group = { first: number; count: number } | Uint32Array | null;

/** A run of the drawn buffer, and which layer of the picture it belongs to. */
export interface Run {
  panel: number;
  layer: number;
  first: number;
  count: number;
}

export interface Arrangement {
  /** The point at each place of the buffer. */
  order: Uint32Array;
  /** From back to front: what is dimmed in every panel, then what is normal, then what is selected. */
  runs: Run[];
}

export const LAYERS = 3; // dimmed, normal, selected

/** The numbers from `first` on in an order that looks random and is the same every time. */
export function shuffled(count: number, first = 0): Uint32Array {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = first + i;
  return shuffle(order);
}

/** Fisher and Yates, with a small generator (mulberry32) so that the order does not depend on the browser. */
export function shuffle(order: Uint32Array): Uint32Array {
  let seed = 0x9e3779b9;
  for (let i = order.length - 1; i > 0; i--) {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    const at = Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * (i + 1));
    const kept = order[i];
    order[i] = order[at];
    order[at] = kept;
  }
  return order;
}

/** The shuffled members of a group among `total` points. */
export function members(group: Group, total: number): Uint32Array {
  if (group === null) return shuffled(total);
  if (group instanceof Uint32Array) return shuffle(group.slice());
  return shuffled(group.count, group.first);
}

const SKIPPED = 255;
const LAYER_OF = new Uint8Array(256).fill(1); // of each state
LAYER_OF[DIMMED] = 0;
LAYER_OF[SELECTED] = 2;
LAYER_OF[HIDDEN] = SKIPPED;

/** The layer of each point. Points that have no place or are hidden have none, so that they cost nothing when drawn. */
function layersOf(positions: Uint16Array, state: Uint8Array | null): Uint8Array {
  const layers = new Uint8Array(positions.length >> 1).fill(1);
  for (let i = 0; i < layers.length; i++) {
    if (positions[2 * i] === UNPLACED) layers[i] = SKIPPED;
    else if (state !== null) layers[i] = LAYER_OF[state[i]];
  }
  return layers;
}

/** Whether the same points have a place. */
export function alike(positions: Uint16Array, others: Uint16Array): boolean {
  if (positions.length !== others.length) return false;
  for (let i = 0; i < positions.length; i += 2)
    if ((positions[i] === UNPLACED) !== (others[i] === UNPLACED)) return false;
  return true;
}

/** Every panel's points in three layers, each in its shuffled order. */
export function arranged(lists: readonly Uint32Array[], positions: Uint16Array, state: Uint8Array | null): Arrangement {
  const layers = layersOf(positions, state);
  const counts = lists.map((list) => counted(list, layers));
  const runs: Run[] = [];
  let end = 0;
  for (let layer = 0; layer < LAYERS; layer++) {
    counts.forEach((count, panel) => {
      if (count[layer] === 0) return;
      runs.push({ panel, layer, first: end, count: count[layer] });
      end += count[layer];
    });
  }
  const order = new Uint32Array(end);
  const starts = counts.map(() => new Uint32Array(LAYERS));
  for (const run of runs) starts[run.panel][run.layer] = run.first;
  lists.forEach((list, panel) => fill(order, list, layers, starts[panel]));
  return { order, runs };
}

function counted(list: Uint32Array, layers: Uint8Array): Uint32Array {
  const count = new Uint32Array(256);
  for (let k = 0; k < list.length; k++) count[layers[list[k]]]++;
  return count;
}

function fill(order: Uint32Array, list: Uint32Array, layers: Uint8Array, next: Uint32Array) {
  for (let k = 0; k < list.length; k++) {
    const layer = layers[list[k]];
    if (layer !== SKIPPED) order[next[layer]++] = list[k];
  }
}

/** The positions in drawn order: each pair moves as one number. */
export function gatherPairs(pairs: Uint16Array, order: Uint32Array): Uint16Array<ArrayBuffer> {
  const aligned = pairs.byteOffset % 4 === 0 ? pairs : pairs.slice();
  const whole = new Uint32Array(aligned.buffer, aligned.byteOffset, pairs.length >> 1);
  const out = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = whole[order[i]];
  return new Uint16Array(out.buffer);
}

/** The colour keys in drawn order. */
export function gatherKeys(keys: Uint8Array | Uint16Array, order: Uint32Array): Uint16Array<ArrayBuffer> {
  const out = new Uint16Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = keys[order[i]];
  return out;
}
