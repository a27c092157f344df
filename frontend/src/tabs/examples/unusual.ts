// Heads that treat an example unlike others: their cluster here holds few of their examples.
import { RARE } from "../../generated/thresholds";
import { CODES, MISSING } from "../../lib/encoding";

/** Whether there are so few examples that no cluster can be rare, since one example already exceeds the threshold. */
export const tooFew = (examples: number) => 1 / examples >= RARE;

export interface Unlike {
  layer: number;
  head: number;
  label: number; // as in the column of labels
  share: number; // of the head's examples that are in this cluster
  n: number; // examples of the head
}

/** How often each head has each label. */
export interface Counts {
  examples: number;
  layers: number;
  heads: number;
  labels: Uint16Array;
  codes: number[]; // label of each column of `table`
  table: Uint32Array; // (head of the grid, code)
  n: Uint32Array; // maps of each head
}

export function countLabels(labels: Uint16Array, layers: number, heads: number): Counts {
  const grid = layers * heads;
  const examples = Math.floor(labels.length / grid);
  const code = new Int32Array(CODES).fill(-1);
  const codes: number[] = [];
  for (let i = 0; i < labels.length; i++)
    if (code[labels[i]] < 0 && labels[i] !== MISSING) {
      code[labels[i]] = codes.length;
      codes.push(labels[i]);
    }
  const table = new Uint32Array(grid * codes.length);
  const n = new Uint32Array(grid);
  for (let example = 0, at = 0; example < examples; example++)
    for (let place = 0; place < grid; place++, at++) {
      const column = code[labels[at]];
      if (column < 0) continue;
      table[place * codes.length + column]++;
      n[place]++;
    }
  return { examples, layers, heads, labels, codes, table, n };
}

/** For each example, the number of heads that treat it unlike others. */
export function unlikeCounts({ examples, labels, codes, table, n }: Counts, rare = RARE): Uint16Array {
  const grid = n.length;
  const code = new Int32Array(CODES).fill(-1);
  codes.forEach((label, i) => (code[label] = i));
  const is = new Uint8Array(table.length);
  for (let i = 0; i < table.length; i++) is[i] = table[i] < rare * n[Math.floor(i / codes.length)] ? 1 : 0;
  const counts = new Uint16Array(examples);
  for (let example = 0, at = 0; example < examples; example++)
    for (let place = 0; place < grid; place++, at++) {
      const column = code[labels[at]];
      if (column >= 0) counts[example] += is[place * codes.length + column];
    }
  return counts;
}

/** The number of examples that some head treats unlike others, and the example with the most such heads. */
export function summarize(counts: Uint16Array): { examples: number; best: number; heads: number } {
  let [examples, best] = [0, 0];
  for (let example = 0; example < counts.length; example++) {
    if (counts[example]) examples++;
    if (counts[example] > counts[best]) best = example;
  }
  return { examples, best, heads: counts[best] ?? 0 };
}

/** The heads that treat an example unlike others, the rarest first. */
export function unlike(counts: Counts, example: number, rare = RARE): Unlike[] {
  const { heads, labels, codes, table, n } = counts;
  const out: Unlike[] = [];
  if (example < 0 || example >= counts.examples) return out;
  for (let place = 0; place < n.length; place++) {
    const label = labels[example * n.length + place];
    const column = codes.indexOf(label);
    if (column < 0) continue;
    const share = table[place * codes.length + column] / n[place];
    if (share < rare) out.push({ layer: Math.floor(place / heads), head: place % heads, label, share, n: n[place] });
  }
  return out.sort((a, b) => a.share - b.share || a.layer - b.layer || a.head - b.head);
}
