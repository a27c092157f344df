import { describe, expect, it } from "vitest";
import { TOP, UNKNOWN } from "../../lib/encoding";
import type { Examples, Token } from "../../lib/api";
import { order } from "../../lib/table";
import {
  exampleSentence,
  farMaps,
  listSentence,
  patternHere,
  patternsSentence,
  sharedValue,
  tooFewExamples,
  trySentence,
  unusualStatistic,
} from "../../lib/wording";
import { received, strongest, defaultThreshold } from "./arcs";
import { clamp, fit, halve, Pyramid, zoom } from "./pyramid";
import { categories, choose } from "./rows";
import { direction, short, shown, spaces } from "./tokens";
import { expectedHeads, mostUnlike, tooFew, unlikeCounts } from "./unusual";

describe("unusual", () => {
  // 3 examples of 2 heads; the column goes from 0 to 2, so that 1 is TOP / 2
  const range = { low: 0, high: 2 };
  const [above, one] = [TOP / 2 + 1, TOP / 2];
  const counts = unlikeCounts(Uint16Array.from([above, one, above, TOP, UNKNOWN, 0]), range, 2);
  it("counts the heads above 1", () => expect([...counts]).toEqual([1, 2, 0]));
  it("expects the mean", () => expect(expectedHeads(counts)).toBe(1));
  it("finds the example of most heads", () => {
    expect(mostUnlike(counts)).toEqual({ best: 1, heads: 2 });
    expect(mostUnlike(new Uint16Array(4))).toEqual({ best: 0, heads: 0 });
  });
  it("agrees with the values, also where no encoded value is 1", () => {
    let seed = 3;
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    const [low, high] = [0.13, 2.71];
    const values = Array.from({ length: 600 }, () => low + (high - low) * random());
    const encoded = Uint16Array.from(values, (value) => Math.round(((value - low) / (high - low)) * TOP));
    const perExample = unlikeCounts(encoded, { low, high }, 6);
    for (let example = 0; example < 100; example++)
      expect(perExample[example]).toBe(values.slice(6 * example, 6 * example + 6).filter((value) => value > 1).length);
  });
  it("counts nothing where all maps are the same, or none is known", () => {
    expect([...unlikeCounts(new Uint16Array(4), { low: 0, high: 0 }, 2)]).toEqual([0, 0]);
    expect([...unlikeCounts(new Uint16Array(4).fill(UNKNOWN), { low: null, high: null }, 2)]).toEqual([0, 0]);
  });
  it("knows when no example can be among the most unusual", () => {
    expect([tooFew(19, 0.05), tooFew(20, 0.05)]).toEqual([true, false]);
    expect(tooFewExamples(19, "text", 0.05)).toBe(
      "With 19 texts none is among the most unusual 5%: this needs at least 20.",
    );
  });
});

describe("sentences", () => {
  const facts = { number: 7, examples: 140, heads: 72, modality: "text", expected: 3.6 };
  const head = (layer: number) => ({ layer, head: 1 });
  it("name the heads that treat an example unlike others", () => {
    expect(exampleSentence({ ...facts, unlike: null })).toBe("Text 7 of 140, seen by 72 heads.");
    expect(exampleSentence({ ...facts, unlike: [] })).toBe(
      "No head treats this text unlike others; 3.6 expected by chance.",
    );
    expect(exampleSentence({ ...facts, unlike: [head(0)] })).toBe(
      "1 of 72 heads treats this text unlike others, 3.6 expected by chance: L0·H1.",
    );
    expect(exampleSentence({ ...facts, expected: 51.2, unlike: [0, 1, 2, 3, 4].map(head) })).toBe(
      "5 of 72 heads treat this text unlike others, 51 expected by chance: L0·H1, L1·H1, L2·H1, and 2 more.",
    );
  });
  it("say why a head treats an example unlike others", () => {
    expect(patternHere("far", "broad", 0.6)).toBe("“far”, usually “broad” (60%)");
    expect(patternHere("far", "far", 0.6)).toBe("“far”, as usual");
    const statistic = { statistic: "special:[SEP]", plain: "attention to [SEP]", value: 0.71, usual: 0.12 };
    expect(unusualStatistic(statistic)).toBe("attention to [SEP] 0.71, usually 0.12");
    const value = { column: "kind", value: "repeated", others: 29, unlike: 9 };
    expect(sharedValue(value, "text")).toBe("as on 9 of 29 other texts with kind = repeated");
  });
  it("name the token with the most attention in a custom text", () => {
    expect(trySentence(12, [{ layer: 3, head: 10 }], 0.42, "tide")).toBe(
      "On your text of 12 tokens, L3·H10 gives 42% of attention to “tide”.",
    );
    expect(trySentence(1, [head(0), head(1)], 0.999, "tide")).toBe(
      "On your text of 1 token, 2 heads together give >99% of attention to “tide”.",
    );
  });
  it("count the patterns of a custom text", () => {
    expect(patternsSentence(9, 72, [["first token", 40]])).toBe(
      "On your text of 9 tokens, 40 of 72 heads show “first token”.",
    );
    const many: [string, number][] = [
      ["a", 30],
      ["b", 20],
      ["c", 10],
      ["d", 8],
      ["e", 4],
    ];
    expect(patternsSentence(9, 72, many)).toBe(
      "On your text of 9 tokens, 30 of 72 heads show “a”, 20 “b”, 10 “c”, and 12 one of 2 others.",
    );
    expect(farMaps(1)).toContain("1 map is farther");
  });
  it("summarize a list", () => {
    const list = { shown: 140, examples: 140, heads: 72, modality: "text" };
    expect(listSentence({ ...list, unlike: null })).toBe("140 texts; open one to see what every head does on it.");
    expect(listSentence({ ...list, unlike: "too few" })).toContain("too few to tell");
    expect(listSentence({ ...list, unlike: { best: "", heads: 0, expected: 0 } })).toContain("no head treats any");
    expect(listSentence({ ...list, shown: 3, unlike: { best: "tides-1", heads: 9, expected: 3.6 } })).toBe(
      "3 of 140 texts shown; “tides-1” is treated unlike others by the most heads: 9 of 72, 3.6 expected by chance.",
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
