import { describe, expect, it } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { Examples, Token } from "../../lib/api";
import { exampleSentence, listSentence, tooFewExamples, trySentence } from "../../lib/wording";
import { received, strongest, defaultThreshold } from "./arcs";
import { clamp, fit, halve, Pyramid, zoom } from "./pyramid";
import { categories, choose, order } from "./rows";
import { direction, short, shown, spaces } from "./tokens";
import { countLabels, summarize, tooFew, unlike, unlikeCounts } from "./unusual";

describe("unusual", () => {
  // 40 examples, 1 layer, 2 heads: the first head has one odd example (7), the second has no map on example 3
  const labels = new Uint16Array(80).fill(1);
  labels[2 * 7] = 5;
  labels[2 * 3 + 1] = MISSING;
  labels[2 * 9 + 1] = NOISE; // once
  const counts = countLabels(labels, 1, 2);
  it("knows when no cluster can be rare", () => {
    expect([tooFew(20), tooFew(21)]).toEqual([true, false]);
    expect(tooFewExamples(20, "text")).toBe(
      "With 20 texts no cluster can hold less than 5% of a head’s texts: this needs more than 20.",
    );
    const few = new Uint16Array(20).fill(1); // 20 examples, one head, one of them alone in its cluster
    few[4] = 2;
    expect(unlike(countLabels(few, 1, 1), 4)).toEqual([]);
    expect(unlike(countLabels(Uint16Array.from([...few, 1]), 1, 1), 4)).toHaveLength(1);
  });
  it("counts maps that exist", () => expect([...counts.n]).toEqual([40, 39]));
  it("finds the heads whose cluster here is rare", () => {
    expect(unlike(counts, 7)).toEqual([{ layer: 0, head: 0, label: 5, share: 1 / 40, n: 40 }]);
    expect(unlike(counts, 9)[0]).toMatchObject({ head: 1, label: NOISE, share: 1 / 39 });
    expect(unlike(counts, 3)).toEqual([]);
    expect(unlike(counts, 999)).toEqual([]);
  });
  it("counts the same heads over all examples", () => {
    let seed = 3;
    const many = Uint16Array.from(
      { length: 200 * 6 },
      () => ((seed = (seed * 16807) % 2147483647), seed % 100 < 97 ? seed % 3 : 3 + (seed % 4)),
    );
    const all = countLabels(many, 2, 3);
    const perExample = unlikeCounts(all);
    for (let example = 0; example < 200; example++) expect(perExample[example]).toBe(unlike(all, example).length);
    expect(perExample.some((count) => count > 0)).toBe(true);
    const { examples, best, heads } = summarize(perExample);
    expect(examples).toBe(perExample.filter((count) => count > 0).length);
    expect(heads).toBe(Math.max(...perExample));
    expect(best).toBe(perExample.indexOf(heads));
  });
});

describe("sentences", () => {
  const facts = { number: 7, examples: 140, heads: 72, modality: "text" };
  const head = (layer: number, share: number) => ({ layer, head: 1, share });
  it("name the heads that treat an example unlike others", () => {
    expect(exampleSentence({ ...facts, rare: null })).toBe("Text 7 of 140, seen by 72 heads.");
    expect(exampleSentence({ ...facts, rare: [] })).toBe(
      "No head treats this text unlike others: each of 72 does what it does on at least 5% of texts.",
    );
    expect(exampleSentence({ ...facts, rare: [head(0, 0.01)] })).toBe(
      "1 of 72 heads treats this text unlike others: L0·H1 (as on 1% of texts).",
    );
    expect(exampleSentence({ ...facts, rare: [0, 1, 2, 3, 4].map((layer) => head(layer, 0.02)) })).toBe(
      "5 of 72 heads treat this text unlike others: L0·H1 (as on 2% of texts), L1·H1 (as 2%), L2·H1 (as 2%), and 2 more.",
    );
  });
  it("name the token with the most attention in a custom text", () => {
    expect(trySentence(12, [{ layer: 3, head: 10 }], 0.42, "tide")).toBe(
      "On your text of 12 tokens, L3·H10 gives 42% of attention to “tide”.",
    );
    expect(trySentence(1, [head(0, 0), head(1, 0)], 0.999, "tide")).toBe(
      "On your text of 1 token, 2 heads together give >99% of attention to “tide”.",
    );
  });
  it("summarize a list", () => {
    const list = { shown: 140, examples: 140, heads: 72, modality: "text" };
    expect(listSentence({ ...list, unlike: null })).toBe("140 texts; open one to see what every head does on it.");
    expect(listSentence({ ...list, unlike: "too few" })).toContain("too few to tell");
    expect(listSentence({ ...list, unlike: { examples: 0, best: "", heads: 0 } })).toContain("no head treats any");
    expect(listSentence({ ...list, shown: 3, unlike: { examples: 1, best: "tides-1", heads: 9 } })).toBe(
      "3 of 140 texts shown; 1 of all is treated unlike others by some head, most of all “tides-1”, by 9 of 72.",
    );
  });
});

describe("rows", () => {
  const examples = {
    id: ["b2", "a10", "a9"],
    excerpt: ["One", "two", "three"],
    n_tokens: [3, 1, 2],
    n_target: [0, 0, 0],
    window: [0, 0, 0],
    windows: [1, 1, 1],
    columns: { topic: ["x", "y", "x"], score: [1, null, -2] },
  } as Examples;
  const all = { query: "", texts: null, filters: {} };
  it("searches and filters", () => {
    expect([...choose(examples, { ...all, query: "A1" })]).toEqual([1]);
    expect([...choose(examples, { ...all, query: "ONE", texts: ["one more", "none", "x"] })]).toEqual([0, 1]);
    expect([...choose(examples, { ...all, filters: { topic: "x" } })]).toEqual([0, 2]);
    expect([...choose(examples, { ...all, filters: { gone: "x" } })]).toEqual([0, 1, 2]);
  });
  it("sorts, unknown values last", () => {
    const score = { key: "s", label: "s", numeric: true, value: (e: number) => examples.columns.score[e] };
    expect([...order(choose(examples, all), score, true)]).toEqual([0, 2, 1]);
    expect([...order(choose(examples, all), score, false)]).toEqual([2, 0, 1]);
    const id = { key: "i", label: "i", numeric: false, value: (e: number) => examples.id[e] };
    expect([...order(choose(examples, all), id, false)]).toEqual([2, 1, 0]);
  });
  it("offers only columns with few values as filters", () => {
    expect(categories(["x", "y", null])).toEqual(["x", "y"]);
    expect(categories([1, 2])).toBeNull();
    expect(categories(Array.from({ length: 99 }, (_, i) => `v${i}`))).toBeNull();
  });
});

describe("tokens", () => {
  it("are shortened, made visible, and cannot change the text direction", () => {
    expect(shown("x".repeat(10_000), 8)).toBe("xxxxxxx…");
    expect([shown(" book"), shown("\n"), shown(" "), shown("")]).toEqual(["book", "⏎", "␣", "∅"]);
    expect(shown("\u202eevil")).not.toContain("\u202e");
    expect(short("😀😀😀😀😀", 3)).toBe("😀😀…");
  });
  it("know their direction and their spaces", () => {
    expect([direction("12 שלום"), direction("a שלום"), direction("…")]).toEqual(["rtl", "ltr", "ltr"]);
    const token = (text: string, word: number, special = false): Token => ({ text, word, special, segment: 0 });
    expect(spaces([token("[CLS]", -1, true), token("un", 0), token("##do", 0), token(".", 1)])).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(spaces([token("A", 0), token(" cat", 1), token("s", 1)])).toEqual([false, true, false]);
  });
});

describe("arcs and pyramid", () => {
  const values = Float32Array.from([0.9, 0.1, 0.4, 0.6]);
  it("keeps the strongest, sorted with the strongest last", () => {
    expect(strongest(values, 2, 0.3).map((arc) => [arc.query, arc.key])).toEqual([
      [1, 0],
      [1, 1],
      [0, 0],
    ]);
    expect(strongest(values, 2, 0, 1)).toHaveLength(1);
    expect(defaultThreshold(values, 1)).toBeCloseTo(0.5);
    expect(received(values, 2, 2)[0]).toBeCloseTo(0.65);
  });
  it("halves by the maximum, also odd sizes", () => {
    const level = halve({ rows: 3, columns: 3, values: Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]) });
    expect([...level.values]).toEqual([5, 6, 8, 9]);
    const pyramid = new Pyramid({ rows: 1024, columns: 1024, values: new Float32Array(1024 * 1024).fill(0.5) });
    expect(pyramid.at(0.3)).toMatchObject({ step: 4, level: { rows: 256 } });
    expect(pyramid.at(3).step).toBe(1);
  });
  it("zooms about the pointer and stays on the map", () => {
    const near = zoom({ x: 2, y: 3, cell: 10 }, 2, 50, 20);
    expect(near.x + 50 / near.cell).toBeCloseTo(7);
    const held = clamp({ x: -5, y: 99, cell: 20 }, 20, 20, 200, 200);
    expect(held).toEqual({ x: 0, y: 10, cell: 20 });
    expect(clamp({ x: 0, y: 0, cell: 1 }, 20, 20, 200, 200).cell).toBe(fit(20, 20, 200, 200).cell);
  });
});
