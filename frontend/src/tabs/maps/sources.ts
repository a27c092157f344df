// Where the maps of a set come from: which heads, which examples, which patterns.
import { BOTH_ENDS, MAINLY, MOST, SAME_MIX } from "../../generated/thresholds";
import type { Inputs, Mixture, Origin } from "../../lib/wording";
import type { Shape } from "./places";

const SEVERAL = 8; // examples: fewer are not of every length

/** How many of some maps each head and each example has. */
export interface Sources {
  total: number;
  heads: Uint32Array; // layer by layer
  examples: Uint32Array;
}

export function sources(shape: Shape, some: Uint32Array): Sources {
  const each = shape.layers * shape.heads;
  const heads = new Uint32Array(each);
  const examples = new Uint32Array(shape.examples);
  for (let k = 0; k < some.length; k++) {
    const example = Math.floor(some[k] / each);
    examples[example]++;
    heads[some[k] - example * each]++;
  }
  return { total: some.length, heads, examples };
}

/** The fewest entries that hold most of the sum, the largest first. */
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

/** A few heads, a few layers, or many heads. */
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

/** One example, long ones, short ones, or all kinds. */
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

/** The one pattern, or the two, that most maps of a set show; or that it shows them as all maps do. */
export function mixtureOf(shares: { name: string; share: number; whole: number }[]): Mixture {
  const apart = shares.reduce((sum, { share, whole }) => sum + Math.abs(share - whole), 0) / 2;
  if (shares.length > 1 && apart < SAME_MIX) return "same mix";
  const top = [...shares].sort((a, b) => b.share - a.share);
  return top.slice(0, top[0]?.share >= MAINLY ? 1 : 2);
}
