import { describe, expect, it, vi } from "vitest";
import { paths } from "../../generated/paths";
import type { Token } from "../../lib/api";
import type { Bundle } from "../examples/maps";
import { tokenUnits } from "../examples/tokens";
import { bandsOf, cut, maximumOf } from "./maximum";
import { written } from "./names";

vi.mock("../../lib/selection.svelte", () => ({ headKey: () => "", parseHead: () => null })); // needs a URL
const { seenOf, unitsOf, variantOf } = await import("./tokens");

describe("word labels", () => {
  const size = { width: 300, height: 300 };
  const name = (i: number) => ({ i, text: `w${i}`, width: 40 });
  const boxes = (words: ReturnType<typeof written>) =>
    words.map(({ x, y, width }) => ({ left: x, right: x + width, top: y - 6.5, bottom: y + 6.5 }));
  it("cover neither each other nor points", () => {
    const spots = Array.from({ length: 200 }, (_, i): [number, number] => [
      150 + 130 * Math.sin(i * 12.9),
      150 + 130 * Math.cos(i * 78.2),
    ]);
    const words = written(
      spots.map((_, i) => name(i)),
      spots,
      size,
    );
    expect(words.length).toBeGreaterThan(20);
    expect(words.length).toBeLessThan(200);
    const all = boxes(words);
    all.forEach((a, k) => {
      for (const b of all.slice(0, k))
        expect(a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom).toBe(true);
      for (const [x, y] of spots) expect(x <= a.left || x >= a.right || y <= a.top || y >= a.bottom).toBe(true);
      expect(a.left >= 0 && a.right <= 300 && a.top >= 0 && a.bottom <= 300).toBe(true);
    });
  });
  it("avoid the side of another point and are placed in order", () => {
    const words = written(
      [name(0)],
      [
        [150, 150],
        [200, 150],
      ],
      size,
    );
    expect(words[0].x).toBeLessThan(150); // on the right it would end at the other point
    expect(
      written(
        [name(1), name(0)],
        [
          [150, 150],
          [150, 150],
        ],
        size,
      )[0].i,
    ).toBe(1);
    expect(
      written(
        [name(0)],
        [
          [Number.NaN, 3],
          [1, 1],
        ],
        size,
      ),
    ).toEqual([]);
  });
  it("avoid taken boxes, and cover points only if allowed", () => {
    const [low] = boxes(written([name(0)], [[150, 150]], size, [{ left: 151, top: 100, right: 300, bottom: 200 }]));
    expect(low.right).toBeLessThan(151);
    const crowd = Array.from({ length: 900 }, (_, i): [number, number] => [10 * (i % 30), 10 * Math.floor(i / 30)]);
    expect(written([name(465)], crowd, size)).toEqual([]);
    expect(written([name(465)], crowd, size, [], true).length).toBe(1);
  });
});

describe("points", () => {
  const token = (text: string, word: number, special = false, segment = 0): Token => ({ text, word, special, segment });
  const tokens = [
    token("[CLS]", -1, true),
    token("light", 0),
    token("##house", 0),
    token("[SEP]", -1, true),
    token("s", 0),
    token("[SEP]", -1, true),
  ];
  const texts = (special: boolean, words: boolean) => unitsOf(tokens, { special, words }).map(({ text }) => text);
  it("are tokens or words; a word never continues after a removed special token", () => {
    expect(texts(true, false).length).toBe(6);
    expect(texts(false, false)).toEqual(["light", "##house", "s"]);
    expect(texts(true, true)).toEqual(["[CLS]", "lighthouse", "[SEP]", "s", "[SEP]"]);
    expect(texts(false, true)).toEqual(["lighthouse", "s"]);
    expect(unitsOf([token("a", 0), token("b", 0, false, 1)], { special: true, words: true }).length).toBe(2);
  });
  it("have a map whose rows are not renormalized", () => {
    const mean = Float32Array.from({ length: 36 }, (_, i) => (i % 6 === 0 ? 0.5 : 0.1));
    const bundle = { mean, queries: tokens, keys: tokens, pooled: null } as unknown as Bundle;
    const seen = seenOf(bundle, { special: false, words: true });
    expect([seen.rows, seen.columns]).toEqual([2, 2]);
    expect([...seen.values].map((value) => value.toFixed(2))).toEqual(["0.20", "0.10", "0.20", "0.10"]);
    expect(seen.queries).toBe(seen.keys);
    expect(seenOf(bundle, { special: true, words: false }).rows).toBe(6);
  });
  it("have API paths", () => {
    const at = (special: boolean, words: boolean) => paths.tsne({ example: 3, variant: variantOf({ special, words }) });
    expect([at(true, false), at(false, false), at(true, true), at(false, true)]).toEqual(
      ["tsne", "tsne-plain", "tsne-words", "tsne-plain-words"].map((name) => `api/examples/3/${name}.json`),
    );
    expect(paths.tsnePositions({ key: "0a", variant: "tsne-words", layouts: "states" })).toBe(
      "api/try/0a/tsne-words/states.bin",
    );
  });
});

describe("maximum attention", () => {
  const units = tokenUnits(["a", "b", "c"].map((text) => ({ text, word: 0, special: false, segment: 0 })));
  it("is parsed from the response, and only if it matches the tokens", () => {
    const response = Uint16Array.from([1, 2, 3, 4, 5, 60, 0, 1, 2, 0, 1, 2]);
    const maximum = maximumOf(response, 4, 2, units, units)!;
    expect([...maximum.values]).toEqual([1, 2, 3, 4, 5, 60]);
    expect([...maximum.argmax]).toEqual([0, 1, 2, 0, 1, 2]);
    expect(maximum.top).toBe(60);
    expect([...cut(maximum, { from: 1, to: 3 })]).toEqual([2, 3, 5, 60]);
    expect(maximumOf(response, 4, 3, units, units)).toBeNull();
  });
  it("wraps into bands", () => {
    expect(bandsOf(250, 816)).toEqual({
      cell: 16,
      bands: [0, 51, 102, 153, 204].map((from) => ({ from, to: Math.min(250, from + 51) })),
    });
    expect(bandsOf(10, 816)).toEqual({ cell: 28, bands: [{ from: 0, to: 10 }] });
    expect(bandsOf(40, 816).cell).toBe(20);
    expect(bandsOf(0, 816).bands).toEqual([]);
  });
});
