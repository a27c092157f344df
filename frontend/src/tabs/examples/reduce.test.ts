import { describe, expect, it } from "vitest";
import { FULL } from "../../lib/encoding";
import type { Token } from "../../lib/api";
import { addMap, fromPooled, group, keepOnly, reduce, resample } from "./reduce";

const token = (text: string, word: number, special = false, segment = 0): Token => ({ text, word, special, segment });
const TOKENS = [
  token("[CLS]", -1, true),
  token("un", 0),
  token("##able", 0),
  token("cat", 1),
  token("[SEP]", -1, true),
];
const generator = (seed: number) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;
function random(rows: number, columns: number, seed = 7): Float32Array {
  const rng = generator(seed);
  const values = Float32Array.from({ length: rows * columns }, () => rng());
  for (let i = 0; i < rows; i++) {
    const row = values.subarray(i * columns, (i + 1) * columns);
    const sum = row.reduce((total, value) => total + value, 0);
    row.forEach((value, j) => (row[j] = value / sum));
  }
  return values;
}
const sums = (values: Float32Array, columns: number) =>
  Array.from({ length: values.length / columns }, (_, i) =>
    values.subarray(i * columns, (i + 1) * columns).reduce((a, b) => a + b, 0),
  );

describe("reduce", () => {
  it("returns the map unchanged without options", () => {
    const map = random(5, 5);
    const seen = reduce(map, TOKENS, TOKENS, { special: true, words: false });
    expect(seen.values).toBe(map);
    expect([seen.rows, seen.columns, seen.same, seen.empty]).toEqual([5, 5, true, 0]);
  });

  it("drops special tokens and renormalizes rows", () => {
    const map = random(5, 5);
    const seen = reduce(map, TOKENS, TOKENS, { special: false, words: false });
    expect(seen.queries.map((unit) => unit.tokens[0])).toEqual([1, 2, 3]);
    sums(seen.values, 3).forEach((sum) => expect(sum).toBeCloseTo(1, 5));
    const left = map[5 + 1] + map[5 + 2] + map[5 + 3];
    expect(seen.values[1]).toBeCloseTo(map[5 + 2] / left, 5);
  });

  it("counts rows with nothing left, and leaves them empty", () => {
    const map = Float32Array.from([1, 0, 0, 1, 0, 0, 0.5, 0.25, 0.25]);
    const tokens = [token("<s>", -1, true), token("a", 0), token("b", 1)];
    const seen = reduce(map, tokens, tokens, { special: false, words: false });
    expect(seen.empty).toBe(1);
    expect([...seen.values]).toEqual([0, 0, 0.5, 0.5]);
  });

  it("keeps all tokens if all are special", () => {
    const tokens = [token("[CLS]", -1, true), token("[SEP]", -1, true)];
    expect(reduce(random(2, 2), tokens, tokens, { special: false, words: true }).rows).toBe(2);
  });

  it("merges words: sum over keys, mean over queries", () => {
    const map = random(5, 5);
    const seen = reduce(map, TOKENS, TOKENS, { special: true, words: true });
    expect(seen.keys.map((unit) => unit.text)).toEqual(["[CLS]", "unable", "cat", "[SEP]"]);
    const at = (query: number, key: number) => map[query * 5 + key];
    expect(seen.values[1 * 4 + 1]).toBeCloseTo((at(1, 1) + at(1, 2) + at(2, 1) + at(2, 2)) / 2, 6);
    expect(seen.values[0 * 4 + 1]).toBeCloseTo(at(0, 1) + at(0, 2), 6);
    sums(seen.values, 4).forEach((sum) => expect(sum).toBeCloseTo(1, 5));
  });

  it("does not join words of two texts that have the same number", () => {
    const tokens = [token("a", 0), token("b", 0, false, 1)];
    expect(reduce(random(2, 2), tokens, tokens, { special: true, words: true }).rows).toBe(2);
  });

  it("reduces queries and keys separately if they differ", () => {
    const output = [token("<pad>", -1, true), token("chat", 0)];
    const seen = reduce(random(2, 5), output, TOKENS, { special: false, words: true });
    expect([seen.rows, seen.columns, seen.same]).toEqual([1, 2, false]);
    expect(sums(seen.values, 2)[0]).toBeCloseTo(1, 5);
  });
});

describe("parts", () => {
  it("decodes and averages", () => {
    const sum = new Float32Array(2);
    addMap(sum, Uint16Array.from([FULL, 0]), 0.5);
    addMap(sum, Uint16Array.from([0, 32768]), 0.5);
    expect(sum[0]).toBeCloseTo(0.5);
    expect(sum[1]).toBeCloseTo(0.125, 4);
  });
  it("groups and keeps like plain loops", () => {
    const map = random(4, 6);
    const [rows, keys] = [
      [[0, 1], [2], [3]],
      [[0], [1, 2, 3], [4, 5]],
    ];
    const grouped = group(map, 6, rows, keys);
    rows.forEach((queries, i) =>
      keys.forEach((members, j) => {
        let sum = 0;
        for (const row of queries) for (const key of members) sum += map[row * 6 + key];
        expect(grouped[i * 3 + j]).toBeCloseTo(sum / queries.length, 5);
      }),
    );
    expect(keepOnly(map, 6, [1], [0, 5]).values[0]).toBeCloseTo(map[6] / (map[6] + map[11]), 5);
  });
});

describe("pooled maps", () => {
  it("are block sums averaged over rows if sizes divide", () => {
    const pooled = resample(random(4, 4), 4, 4, 2, 2);
    const map = random(4, 4);
    expect(pooled[0]).toBeCloseTo((map[0] + map[1] + map[4] + map[5]) / 2, 5);
  });
  it("keep the sum of rows in any size", () => {
    for (const size of [3, 5, 7, 13])
      sums(resample(random(8, 8), 8, 8, size, size), size).forEach((sum) => expect(sum).toBeCloseTo(1, 4));
  });
  it("are resized to tokens exactly if the text is shorter by an integer factor", () => {
    const map = random(5, 5);
    const seen = fromPooled(resample(map, 5, 5, 10, 10), 10, TOKENS, TOKENS);
    expect(seen.rows).toBe(5);
    map.forEach((value, i) => expect(seen.values[i]).toBeCloseTo(value, 5));
  });
  it("name the tokens of each bin, each token once", () => {
    const many = Array.from({ length: 37 }, (_, i) => token(`w${i}`, i));
    const seen = fromPooled(random(8, 8), 8, many, many);
    expect(seen.queries.flatMap((unit) => unit.tokens)).toEqual(many.map((_, i) => i));
    expect(seen.queries.every((unit) => unit.tokens.length > 0)).toBe(true);
  });
});
