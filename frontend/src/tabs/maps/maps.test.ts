import { describe, expect, it } from "vitest";
import { encodeLabel, MISSING, NOISE, TOP, UNKNOWN, UNPLACED } from "../../lib/encoding";
import {
  agreementText,
  filteredText,
  inputsText,
  mapSentence,
  mixtureText,
  originText,
  setSentence,
  wholeSentence,
} from "../../lib/wording";
import { DIMMED, NORMAL, SELECTED } from "../../points/style";
import { amounted, categorical, colored, expanded, positional, ranged, tally } from "./coding";
import { contrast } from "./contrast";
import { picked, readLasso, readNumbers, states, toggled, writeLasso, type Narrowing } from "./picking";
import { agreeing, compare } from "./neighbors";
import { membersOf, existing, indexOf, ofExample, ofHead, placeOf, type Shape } from "./places";
import { inputsOf, mixtureOf, originOf, sources } from "./sources";
import { factorsOf, foremost, spread } from "./spread";
import { drawn, middle, middles, nearest } from "./typical";

const shape: Shape = { examples: 50, layers: 4, heads: 3 };
const N = 600;
let seed = 7;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const integer = (below: number) => Math.floor(random() * below);
const positions = Uint16Array.from({ length: 2 * N }, () => integer(UNPLACED));
for (let e = 0; e < shape.examples; e++) positions[2 * indexOf(shape, { example: e, layer: 1, head: 2 })] = UNPLACED; // layer 1 has two heads
const exists = existing(positions);
const all = Array.from(exists.keys()).filter((i) => exists[i]);
const labels = Uint16Array.from({ length: N }, (_, i) => (exists[i] ? (i % 7 === 0 ? NOISE : i % 5) : MISSING));

describe("places", () => {
  it("are numbered example by example", () => {
    for (const i of [0, 1, 17, 599]) expect(indexOf(shape, placeOf(shape, i))).toBe(i);
    expect(placeOf(shape, 12 * 3 + 2 * 3 + 1)).toEqual({ example: 3, layer: 2, head: 1 });
    expect(
      [...ofHead(shape, { layer: 2, head: 1 })].every(
        (i) => placeOf(shape, i).layer === 2 && placeOf(shape, i).head === 1,
      ),
    ).toBe(true);
    expect([...ofExample(shape, 4)]).toEqual(Array.from({ length: 12 }, (_, k) => 48 + k));
  });
});

describe("coding", () => {
  it("counts categories of maps that exist, noise last", () => {
    const coded = categorical(labels, "map", (n) => `c${n}`, shape, exists);
    for (const category of coded.categories!) {
      const label = encodeLabel(category.number);
      expect(category.count).toBe(all.filter((i) => labels[i] === label).length);
    }
    expect(coded.categories!.at(-1)!.number).toBe(-1);
    expect(coded.categories!.reduce((sum, category) => sum + category.count, 0)).toBe(all.length);
  });
  it("expands values of examples to their maps", () => {
    const codes = Uint16Array.from({ length: 50 }, (_, e) => (e === 3 ? UNKNOWN : e % 3));
    const coded = categorical(codes, "example", String, shape, exists);
    const keys = expanded(coded, shape);
    for (const i of all)
      expect(keys[i]).toBe(codes[placeOf(shape, i).example] === UNKNOWN ? 3 : codes[placeOf(shape, i).example]);
    const some = Uint32Array.from(all.filter((_, k) => k % 3 === 0));
    const counts = tally(coded, shape, exists, some);
    expect([...counts]).toEqual([0, 1, 2, 3].map((key) => [...some].filter((i) => keys[i] === key).length));
  });
  it("encodes layers and heads", () => {
    const layer = positional("layer", String, shape, exists);
    const head = positional("head", String, shape, exists);
    for (let i = 0; i < N; i++)
      expect([layer.keys[i], head.keys[i]]).toEqual([placeOf(shape, i).layer, placeOf(shape, i).head]);
    expect(layer.categories!.map((category) => category.count)).toEqual([150, 100, 150, 150]);
  });
  it("scales nearly all amounts and gives unknown values their own key", () => {
    const values = Uint16Array.from({ length: N }, (_, i) => (i === 5 ? UNKNOWN : i === 0 ? 60000 : 1000 + i));
    const coded = amounted(values, { level: "map", low: 0, high: TOP }, shape, new Uint8Array(N).fill(1));
    expect(coded.amounts).toMatchObject({ cutHigh: true, unknown: 1 });
    expect(coded.amounts!.high).toBeLessThan(1600);
    expect(coded.keys[5]).toBe(255);
    expect(coded.keys[0]).toBe(254);
    expect(coded.keys[300]).toBeGreaterThan(coded.keys[100]);
  });
  it("accepts constant amounts and amounts that are all unknown", () => {
    const card = { level: "map" as const, low: 2, high: 2 };
    expect(amounted(new Uint16Array(N), card, shape, exists).amounts).toMatchObject({ low: 2, high: 2 });
    expect(amounted(new Uint16Array(N).fill(UNKNOWN), card, shape, exists).amounts!.unknown).toBe(all.length);
  });
  it("makes ranges that cover every example", () => {
    const lengths = Array.from({ length: 50 }, (_, e) => (e < 2 ? null : 10 + e));
    const coded = ranged(lengths, shape, exists, (value) => value.toFixed());
    expect(coded.categories!.map((category) => category.name)).toEqual([
      "12 – 23",
      "24 – 35",
      "36 – 47",
      "48 – 59",
      "unknown",
    ]);
    expect(coded.categories!.reduce((sum, category) => sum + category.count, 0)).toBe(all.length);
    expect(ranged(new Array(50).fill(8), shape, exists, String).categories!.map((category) => category.name)).toEqual([
      "8",
    ]);
  });
  it("gives every key a color, and keys from 10 on a mark", () => {
    const coded = categorical(
      Uint16Array.from({ length: N }, (_, i) => i % 24),
      "map",
      String,
      shape,
      new Uint8Array(N).fill(1),
    );
    const { lut, marks } = colored(coded, "light");
    expect(lut.length).toBe(4 * coded.size);
    expect([marks[3], marks[13], marks[23]]).toEqual([0, 1, 2]);
    expect([...lut.subarray(12, 15)]).toEqual([...lut.subarray(52, 55)]);
  });
});

describe("picking", () => {
  it("narrows by lasso, examples and categories together", () => {
    const inside = Uint32Array.from(all.filter((i) => i % 2));
    const examples = Uint8Array.from({ length: 50 }, (_, e) => e % 3 && 1);
    const keys = Uint16Array.from({ length: N }, (_, i) => i % 4);
    const chosen = Uint8Array.from([0, 1, 0, 1]);
    const slow = all.filter((i) => i % 2 && examples[placeOf(shape, i).example] && chosen[keys[i]]);
    expect([...picked(shape, exists, { inside, examples, keys, chosen })]).toEqual(slow);
    expect([...picked(shape, exists, {})]).toEqual(all);
  });
  it("combines every pair of filters", () => {
    const examples = Uint8Array.from({ length: 50 }, (_, e) => e % 3 && 1);
    const [head, example, label] = [{ layer: 2, head: 1 }, 7, 4];
    const keys = Uint16Array.from({ length: N }, (_, i) => i % 4);
    const tests: [Narrowing, (i: number) => boolean][] = [
      [{ head }, (i) => placeOf(shape, i).layer === 2 && placeOf(shape, i).head === 1],
      [{ example }, (i) => placeOf(shape, i).example === 7],
      [{ labels, label }, (i) => labels[i] === label],
      [{ inside: Uint32Array.from(all.filter((i) => i % 5)) }, (i) => i % 5 > 0],
      [{ examples }, (i) => examples[placeOf(shape, i).example] > 0],
      [{ keys, chosen: Uint8Array.from([0, 1, 0, 1]) }, (i) => i % 2 > 0],
    ];
    for (const [first, passesFirst] of tests)
      for (const [second, passesSecond] of tests)
        expect([...picked(shape, exists, { ...first, ...second })]).toEqual(
          all.filter((i) => passesFirst(i) && passesSecond(i)),
        );
  });
  it("is described by all filters", () => {
    const none = { head: null, pattern: null, example: null, query: null, lasso: false, categories: [] };
    const head = { layer: 3, head: 5 };
    expect(filteredText(12, "text", { ...none, head, query: "water" })).toBe("12 maps of L3·H5 on texts with “water”");
    expect(filteredText(3, "text", { ...none, saved: "odd" })).toBe("3 maps of the selection “odd”");
    expect(filteredText(1, "text", { ...none, pattern: "broad", example: 4 })).toBe("1 map of “broad” on text 4");
    expect(
      filteredText(0, "image", { ...none, head, pattern: "broad", lasso: true, categories: ["sea", "hill"] }),
    ).toBe("0 maps selected of L3·H5 that show “broad” in “sea” and “hill”");
  });
  it("dims maps outside the set", () => {
    expect(states(4, null, null)).toBeNull();
    expect([...states(4, Uint32Array.of(1, 2), Uint32Array.of(2))!]).toEqual([DIMMED, NORMAL, SELECTED, DIMMED]);
    expect([...states(4, Uint32Array.of(1), Uint32Array.of(3))!]).toEqual([DIMMED, NORMAL, DIMMED, SELECTED]);
  });
  it("reads and writes checked categories", () => {
    expect(readNumbers("3,x,-1,")).toEqual([3, -1]);
    expect([toggled([3], -1), toggled([3], 3)]).toEqual(["-1,3", null]);
  });
  it("remembers the axes a lasso was drawn on", () => {
    const polygon = [
      [0, 2],
      [TOP, 400],
      [3000, TOP],
    ] as const;
    for (const axes of ["linear", "quantile"] as const)
      expect(readLasso(writeLasso(polygon, axes))).toEqual({ polygon, axes });
    expect([readLasso(undefined), readLasso("q-"), readLasso("q-00"), readLasso("x-000000")]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});

describe("nearest maps", () => {
  it("are marked where plane and vectors disagree", () => {
    const [plane, vectors] = [
      [4, 9, 2, 7],
      [9, 4, 30, 31],
    ];
    expect(compare(plane, vectors, 3)).toEqual([
      { map: 4, agrees: true },
      { map: 9, agrees: true },
      { map: 2, agrees: false },
    ]);
    expect(agreeing(compare(vectors, plane, 4))).toBe(2);
    expect(agreementText({ shown: 8, onPlane: 8, byVectors: 8, of: 50 })).toBe(
      "Plane and vectors agree on its neighbors.",
    );
    expect(agreementText({ shown: 8, onPlane: 5, byVectors: 6, of: 50 })).toContain("nearest on the plane, 5 are");
  });
});

describe("typical maps", () => {
  const distance = (i: number, [x, y]: number[]) => (positions[2 * i] - x) ** 2 + (positions[2 * i + 1] - y) ** 2;
  it("are those nearest to the median", () => {
    const some = Uint32Array.from(all.filter((i) => i % 3 === 0));
    const at = middle(positions, some);
    const sorted = [...some].map((i) => positions[2 * i]).sort((a, b) => a - b);
    expect(at[0]).toBe(sorted[Math.ceil(sorted.length / 2) - 1]);
    const slow = [...some].sort((a, b) => distance(a, at) - distance(b, at)).slice(0, 6);
    expect(nearest(positions, some, at, 6)).toEqual(slow);
    expect(nearest(positions, null, at, 3, slow[0])).not.toContain(slow[0]);
  });
  it("belong to their cluster", () => {
    const coded = categorical(labels, "map", String, shape, exists);
    middles(positions, coded.keys, coded.size).forEach((at, key) => {
      const members = all.filter((i) => coded.keys[i] === key);
      expect(members.some((i) => positions[2 * i] === at![0] && positions[2 * i + 1] === at![1])).toBe(true);
    });
  });
  it("are sampled reproducibly and without duplicates", () => {
    const some = Uint32Array.from(all);
    expect(drawn(some, 4)).toEqual(drawn(some, 4));
    expect(new Set(drawn(some, 9)).size).toBe(9);
    expect(drawn(Uint32Array.of(1, 2), 4, [1])).toEqual([2]);
  });
});

describe("contrast", () => {
  it("agrees with plain means and the pooled deviation", () => {
    const values = Uint16Array.from({ length: N }, (_, i) => (i % 11 === 0 ? UNKNOWN : integer(UNKNOWN)));
    const some = Uint32Array.from(all.filter((i) => i % 4 === 0));
    const card = { low: -2, high: 3 };
    const amountOf = (i: number) => -2 + (5 * values[i]) / TOP;
    const groups = [true, false].map((inner) =>
      [...values.keys()].filter((i) => values[i] !== UNKNOWN && some.includes(i) === inner).map(amountOf),
    );
    const means = groups.map((group) => group.reduce((sum, value) => sum + value, 0) / group.length);
    const squares = groups.map((group, g) => group.reduce((sum, value) => sum + (value - means[g]) ** 2, 0));
    const deviation = Math.sqrt((squares[0] + squares[1]) / (groups[0].length + groups[1].length - 2));
    const result = contrast(values, some, card);
    expect(result.inside).toBeCloseTo(means[0], 9);
    expect(result.outside).toBeCloseTo(means[1], 9);
    expect(result.difference).toBeCloseTo((means[0] - means[1]) / deviation, 9);
    expect([result.nInside, result.nOutside]).toEqual(groups.map((group) => group.length));
  });
  it("is null where it is not defined", () => {
    expect(contrast(new Uint16Array(N).fill(9), Uint32Array.of(1), { low: 0, high: 1 }).difference).toBeNull();
    expect(contrast(new Uint16Array(N).fill(UNKNOWN), Uint32Array.of(1), { low: 0, high: 1 }).inside).toBeNull();
  });
});

describe("spread", () => {
  const coded = categorical(labels, "map", (n) => `c${n}`, shape, exists);
  it("has shares of the set and of all maps that add up", () => {
    const rows = spread(coded, shape, exists, Uint32Array.from(all.filter((i) => labels[i] === 2)));
    expect(rows.reduce((sum, row) => sum + row.baseline, 0)).toBeCloseTo(1);
    expect(rows.find((row) => row.number === 2)!.share).toBe(1);
    expect(foremost(rows, false, 3).map((row) => row.number)).toEqual([2]);
  });
  it("includes lengths and columns of the dataset", () => {
    const card = {
      level: "example",
      group: "examples",
      unit: "",
      low: 0,
      high: 1,
      slug: "",
      encoding: "code",
    } as const;
    const examples = {
      id: [],
      excerpt: [],
      n_target: [],
      window: [],
      windows: [],
      n_tokens: Array.from({ length: 50 }, (_, e) => e),
      columns: { topic: Array.from({ length: 50 }, (_, e) => (e ? ["a", "b"][e % 2] : null)) },
    };
    const factors = factorsOf(
      [
        {
          ...card,
          name: "example.n_tokens",
          label: "number of tokens",
          kind: "number",
          unit: "tokens",
          categories: [],
        },
        { ...card, name: "example.topic", label: "topic", kind: "category", categories: ["a", "b"] },
      ],
      examples,
      shape,
      exists,
    );
    expect(factors.map((factor) => factor.label)).toEqual(["Length, tokens", "topic"]);
    expect(factors[1].coded.categories!.map((category) => category.name)).toEqual(["b", "a", "unknown"]);
  });
});

describe("sentences", () => {
  const from = (keep: (place: { example: number; layer: number; head: number }) => boolean) =>
    sources(shape, Uint32Array.from(all.filter((i) => keep(placeOf(shape, i)))));
  const lengths = Array.from({ length: 50 }, (_, e) => 10 + e);
  it("say where maps come from", () => {
    const text = (keep: Parameters<typeof from>[0]) => originText(originOf(shape, from(keep)));
    expect(text(({ layer, head }) => layer === 2 && head === 1)).toBe("all from L2·H1");
    expect(text(({ layer }) => layer > 1)).toBe("all from layers 2 and 3");
    expect(text(() => true)).toBe("from 11 heads of all layers");
    expect(text(({ layer }) => layer > 0)).toBe("from 8 heads of layers 1 to 3");
    expect(
      originOf(
        shape,
        from(({ layer }) => layer > 1),
      ),
    ).toEqual({ kind: "layers", layers: [2, 3], share: 1 });
  });
  it("say which examples they come from", () => {
    const text = (keep: Parameters<typeof from>[0], tokens = lengths, what = "text") =>
      inputsText(inputsOf(from(keep), tokens), what);
    expect(text(() => true)).toBe("on texts of every length");
    expect(text(({ example }) => example === 9)).toBe("all on text 9");
    expect(text(({ example }) => example > 40)).toBe("all on texts of more than 43 tokens");
    expect(text(({ example }) => example < 9)).toBe("all on texts of fewer than 26 tokens");
    expect(text(() => true, new Array(50).fill(197), "image")).toBe("on 50 images");
  });
  it("name the patterns", () => {
    const text = (...shares: [name: string, share: number, baseline: number][]) =>
      mixtureText(mixtureOf(shares.map(([name, share, baseline]) => ({ name, share, baseline }))));
    expect(text(["distant tokens, broader", 0.3, 0.9], ["token itself", 0.5, 0.1])).toBe(
      "50% “token itself” and 30% “distant tokens, broader”",
    );
    expect(text(["a", 0.55, 0.5], ["b", 0.45, 0.5])).toBe("the same mix of patterns as in all maps");
    expect(text(["a", 0.2, 0.5], ["b", 0.8, 0.5])).toBe("80% “b”");
    expect(text(["a", 1, 1])).toBe("all “a”");
    expect(text()).toBe("");
    expect(mapSentence("L0·H2 on text 7", "itself", { maps: 20, same: 19, heads: 3 })).toBe(
      "L0·H2 on text 7 is “itself”: 19 of its 20 nearest maps are too, from 3 heads.",
    );
    expect(setSentence("9 maps selected", ["", "all “a”", "on 3 texts"])).toBe("9 maps selected: all “a”; on 3 texts.");
  });
  it("say how far the projection can be trusted", () => {
    const facts = { maps: 10080, heads: 72, examples: 140, modality: "text", trustworthiness: 0.9, patterns: 18 };
    expect(wholeSentence(facts)).toBe(
      "10,080 maps of 72 heads on 140 texts: near points mostly look alike (trustworthiness 0.90); 18 patterns.",
    );
  });
});

it("the maps of a saved selection are those it lists, of its heads and of its examples, each once", () => {
  const shape = { examples: 3, layers: 2, heads: 2 };
  const saved = {
    maps: [
      [2, 1, 1],
      [0, 0, 1],
      [9, 0, 0],
    ],
    heads: [[0, 1]],
    examples: [1],
  };
  expect([...membersOf(shape, saved)]).toEqual([1, 4, 5, 6, 7, 9, 11]);
});
