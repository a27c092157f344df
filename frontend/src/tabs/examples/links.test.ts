import { describe, expect, it, vi } from "vitest";
import type { AtlasCard, Example, LayerCard, Token } from "../../lib/api";
import { FULL } from "../../lib/encoding";
import { CATEGORIES } from "../../lib/palette";
import type { Seen } from "./reduce";

vi.mock("../../lib/route.svelte", () => ({ route: { params: {} } })); // it reads the address of a browser
const layers = vi.fn<(atlas: AtlasCard, text: unknown, layer: number) => Promise<Uint16Array>>();
vi.mock("../../lib/api", async (original) => ({
  ...(await original<object>()),
  layerMaps: (...of: Parameters<typeof layers>) => layers(...of),
}));
const { coloredArcs, huesOf, joined, MOST_HUES, toggleHidden } = await import("./hues");
const { parseBeside, writeBeside } = await import("./beside");
const { mentions, readPins, togglePin } = await import("./pins");
const { directions, keptKeys, rankHeads, weight } = await import("./between");
const { reduce } = await import("./reduce");

const token = (text: string, word: number, special = false): Token => ({ text, word, special, segment: 0 });
const place = (layer: number, head: number) => ({ layer, head });
let seed = 5;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
/** Random attention whose rows sum to 1. */
const attention = (rows: number, columns: number) =>
  Array.from({ length: rows }, () => Array.from({ length: columns }, random)).flatMap((row) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((value) => value / sum);
  });
const encode = (values: number[]) => Uint16Array.from(values, (value) => Math.round(Math.sqrt(value) * FULL));

describe("hues of heads", () => {
  const heads = [place(0, 2), place(1, 7), place(3, 1)];
  it("are different, safe colors, and stay when a head is hidden", () => {
    const hues = huesOf(heads, "1.7");
    expect(hues.map(({ hidden }) => hidden)).toEqual([false, true, false]);
    expect(
      new Set(
        huesOf(
          Array.from({ length: MOST_HUES }, (_, i) => place(0, i)),
          undefined,
        ).map((h) => h.color),
      ).size,
    ).toBe(8);
    expect(hues.every(({ color }) => CATEGORIES.includes(color))).toBe(true);
    expect(toggleHidden(hues, place(0, 2))).toBe("0.2,1.7");
    expect(toggleHidden(hues, place(1, 7))).toBeNull();
  });
  it("color the arcs of every head that is shown, slightly apart, the strongest last", () => {
    const seen = (values: number[]) => ({ rows: 2, columns: 2, values: Float32Array.from(values) }) as Seen;
    const maps = [seen([0.9, 0.1, 0.5, 0.5]), seen([1, 0, 1, 0]), seen([0.2, 0.8, 0.3, 0.7])];
    const arcs = coloredArcs(maps, huesOf(heads, "1.7"), 0.4);
    expect(arcs.map(({ value }) => Number(value.toFixed(1)))).toEqual([0.5, 0.5, 0.7, 0.8, 0.9]);
    expect(new Set(arcs.map(({ color }) => color))).toEqual(new Set([CATEGORIES[0], CATEGORIES[2]]));
    expect(new Set(arcs.map(({ shift }) => shift)).size).toBe(2);
    expect(joined(maps).length).toBe(12);
  });
});

describe("what is beside an example", () => {
  const cards = [{ heads: 12 }, { heads: 4 }] as LayerCard[];
  it("is another example or another head, as people write them", () => {
    for (const text of ["17", "text 17", " 17 "]) expect(parseBeside(text, cards, 20)).toEqual({ example: 17 });
    for (const text of ["1.3", "L1·H3", "l1h3", "1 3"])
      expect(parseBeside(text, cards, 20)).toEqual({ head: place(1, 3) });
    for (const text of [undefined, "", "20", "1.4", "2.0", "x", "-1"]) expect(parseBeside(text, cards, 20)).toBeNull();
    expect([writeBeside({ example: 3 }), writeBeside({ head: place(1, 3) })]).toEqual(["3", "1.3"]);
  });
});

const tokens = [
  token("[CLS]", -1, true),
  token("Anna", 0),
  token("met", 1),
  token("un", 2),
  token("##do", 2),
  token("anna", 3),
  token("[SEP]", -1, true),
];

describe("pinned tokens", () => {
  const seen = reduce(Float32Array.from(attention(7, 7)), tokens, tokens, { special: true, words: true });
  it("are one or two, and survive merging into words", () => {
    expect(readPins("4,5", seen)).toEqual([
      { query: 3, key: 3 },
      { query: 4, key: 4 },
    ]);
    expect(readPins("1", seen)).toEqual([{ query: 1, key: 1 }, null]);
    expect(readPins(",5", seen)).toEqual([null, null]);
  });
  it("are toggled by clicks", () => {
    const both = (unit: number) => ({ query: unit, key: unit });
    expect(togglePin(seen, [null, null], both(1), true)).toBe("1");
    expect(togglePin(seen, [both(1), null], both(4), true)).toBe("1,5");
    expect(togglePin(seen, [both(1), both(4)], both(4), true)).toBe("1");
    expect(togglePin(seen, [both(1), both(4)], both(2), false)).toBe("2");
    expect(togglePin(seen, [both(1), null], both(1), false)).toBeNull();
    expect(togglePin(seen, [null, null], { query: 1, key: 4 }, true)).toBe("1,k5");
  });
  it("offer other mentions of the same word", () =>
    expect(mentions(seen, { query: 1, key: 1 })).toEqual([{ query: 4, key: 4 }]));
});

describe("attention between two tokens", () => {
  it("is that of the map that is shown, for words and without special tokens", () => {
    const values = attention(7, 7);
    const map = encode(values);
    for (const special of [true, false])
      for (const words of [true, false]) {
        const seen = reduce(Float32Array.from(values), tokens, tokens, { special, words });
        const kept = keptKeys(tokens, tokens, { special, words });
        for (let i = 0; i < seen.rows; i++)
          for (let j = 0; j < seen.columns; j++) {
            const [there, back] = directions(seen, { query: i, key: i }, { query: j, key: j });
            expect(weight(map, 7, there, kept)).toBeCloseTo(seen.values[i * seen.columns + j], 3);
            expect(weight(map, 7, back, kept)).toBeCloseTo(seen.values[j * seen.columns + i], 3);
          }
      }
  });
  it("has one direction where queries and keys are different texts", () => {
    const seen = reduce(Float32Array.from(attention(2, 7)), tokens.slice(1, 3), tokens, {
      special: true,
      words: false,
    });
    expect(directions(seen, { query: 1, key: null }, { query: null, key: 5 })).toEqual([{ queries: [1], keys: [5] }]);
    expect(directions(seen, { query: null, key: 5 }, { query: 1, key: null })).toEqual([{ queries: [1], keys: [5] }]);
  });
  it("ranks all heads, the strongest link in either direction first", async () => {
    const atlas = {
      model: { layers: [0, 1].map(() => ({ kind: "encoder", heads: 2 })), heads: 2 },
    } as unknown as AtlasCard;
    const maps = [0, 1].map(() => [attention(7, 7), attention(7, 7)]);
    maps[1][0][5 * 7 + 1] = 0.97; // the second mention attends to the first
    layers.mockImplementation((_, __, layer) => Promise.resolve(encode(maps[layer].flat())));
    const ways = [
      { queries: [1], keys: [5] },
      { queries: [5], keys: [1] },
    ];
    const example = { key: null, example: 0, tokens, target: [] as Token[] } as unknown as Example;
    const options = { special: true, words: false };
    const ranked = await rankHeads(atlas, example, "encoder", ways, options, new AbortController().signal);
    expect(ranked.length).toBe(4);
    expect(ranked[0]).toMatchObject(place(1, 0));
    expect(ranked[0].weights[1]).toBeCloseTo(0.97, 3);
    expect(ranked[0].weights[0]).toBeCloseTo(maps[1][0][1 * 7 + 5], 3);
    const best = ranked.map(({ weights }) => Math.max(...weights));
    expect([...best].sort((a, b) => b - a)).toEqual(best);
  });
});
