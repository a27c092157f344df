// Where the maps of a set come from: which heads, which examples, which patterns.
import { BOTH_ENDS, MAINLY, MOST, SAME_MIX } from "../../generated/thresholds";
import type { Inputs, Mixture, Origin } from "../../lib/wording";
import type { Shape } from "./places";

const SEVERAL = 8; // examples: fewer do not count as every length

/** The number of selected maps of each head and each example. */
export interface Sources {
  total: number;
  heads: Uint32Array; // layer by layer
  examples: Uint32Array;
}

export function sources(shape: Shape, selected: Uint32Array): Sources {
  const each = shape.layers * shape.heads;
  const heads = new Uint32Array(each);
  const examples = new Uint32Array(shape.examples);
  for (let k = 0; k < selected.length; k++) {
    const example = Math.floor(selected[k] / each);
    examples[example]++;
    heads[selected[k] - example * each]++;
  }
  return { total: selected.length, heads, examples };
}

/** The smallest set of entries that makes up most of the sum, largest first. */
function fewest(counts: ArrayLike<number>, total: number): { entries: number[]; share: number } {
  const order = Array.from(counts, (_, at) => at).sort((a, b) => counts[b] - counts[a]);
  const entries: number[] = [];
  let sum = 0;
  for (const at of order) {
    if (sum >= MOST * total) break;
    entries.push(at);
    sum += counts[at];
  }
  return { entries, share: sum / total };
}

const nonzero = (counts: Uint32Array) => counts.reduce((sum, count) => sum + Number(count > 0), 0);

/** Whether maps come from a few heads, a few layers, or many heads. */
export function originOf(shape: Shape, { heads, total }: Sources): Origin {
  const few = fewest(heads, total);
  if (few.entries.length <= 3) {
    const named = few.entries.map((at) => ({ layer: Math.floor(at / shape.heads), head: at % shape.heads }));
    return { kind: "heads", heads: named, share: few.share };
  }
  const layers = Array.from({ length: shape.layers }, (_, layer) =>
    heads.subarray(layer * shape.heads, (layer + 1) * shape.heads).reduce((sum, count) => sum + count, 0),
  );
  const { entries, share } = fewest(layers, total);
  if (entries.length <= 2 && shape.layers > 3) return { kind: "layers", layers: entries.sort((a, b) => a - b), share };
  const present = layers.flatMap((count, layer) => (count ? [layer] : []));
  return {
    kind: "many",
    heads: nonzero(heads),
    first: present[0],
    last: present[present.length - 1],
    everywhere: present.length > 1 && present.length === shape.layers,
  };
}

/** Whether maps come from one example, long ones, short ones, or all lengths. */
export function inputsOf({ examples, total }: Sources, lengths: number[]): Inputs {
  const used = nonzero(examples);
  if (used === 1) return { kind: "one", example: examples.findIndex((count) => count > 0) };
  const sorted = [...lengths].sort((a, b) => a - b);
  const short = sorted[Math.floor(sorted.length / 3)];
  const long = sorted[Math.floor((2 * sorted.length) / 3)];
  if (!(short < long)) return { kind: "some", examples: used }; // all of one length
  let [shorter, longer] = [0, 0];
  lengths.forEach((length, at) => {
    if (length < short) shorter += examples[at];
    if (length > long) longer += examples[at];
  });
  if (longer / total >= MAINLY) return { kind: "long", share: longer / total, tokens: long };
  if (shorter / total >= MAINLY) return { kind: "short", share: shorter / total, tokens: short };
  const everyLength = Math.min(longer, shorter) / total >= BOTH_ENDS && used >= SEVERAL;
  return everyLength ? { kind: "every length" } : { kind: "some", examples: used };
}

/** The one or two main patterns of a set of maps, or “same mix” if their shares are those of all maps. */
export function mixtureOf(shares: { name: string; share: number; baseline: number }[]): Mixture {
  const distance = shares.reduce((sum, { share, baseline }) => sum + Math.abs(share - baseline), 0) / 2;
  if (shares.length > 1 && distance < SAME_MIX) return "same mix";
  const top = [...shares].sort((a, b) => b.share - a.share);
  return top.slice(0, top[0]?.share >= MAINLY ? 1 : 2);
}
