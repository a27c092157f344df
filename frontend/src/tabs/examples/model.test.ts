import { describe, expect, it, vi } from "vitest";
import type { AtlasCard, Example, Token } from "../../lib/api";
import { FULL, MISSING, NOISE } from "../../lib/encoding";
import type { Layer } from "./allMaps";
import type { Seen } from "./reduce";

vi.mock("../../lib/route.svelte", () => ({ route: { params: {} } })); // it reads the address of a browser
const { inFull, seenHead } = await import("./allMaps");
const { customPatterns, patternCounts, patternsOf } = await import("./heads");
const { cellsFor, drawLines, headAt, mostLines, strongestLink } = await import("./model");
const { chooseView, viewsFor } = await import("./views");

const token = (text: string, word: number, special = false): Token => ({ text, word, special, segment: 0 });
const tokens = [token("[CLS]", -1, true), token("un", 0), token("##do", 0)];
const code = (weight: number) => Math.round(Math.sqrt(weight) * FULL);
const atlas = (layers: number, heads: number) =>
  ({
    model: { modality: "text", heads, layers: Array.from({ length: layers }, () => ({ kind: "encoder", heads })) },
  }) as unknown as AtlasCard;
const example = (count: number, full = true) =>
  ({ full, tokens: Array.from({ length: count }, () => token("a", 0)), target: [] as Token[] }) as Example;

describe("the grid of all heads", () => {
  it("fits the heads of small models and scrolls those of large ones", () => {
    const [small, many] = [cellsFor(852, 9), cellsFor(852, 32)];
    expect(small.width).toBeLessThanOrEqual(852);
    expect(small.side).toBeGreaterThan(70);
    expect(many.width).toBeLessThanOrEqual(852);
    expect(cellsFor(852, 64).side).toBe(20); // no smaller, so that the grid is wider than the page
    expect(cellsFor(852, 64).width).toBeGreaterThan(852);
    expect(cellsFor(852, 2).side).toBe(150);
  });
  it("knows the head at a point", () => {
    const cells = cellsFor(852, 9);
    const middle = (head: number, layer: number) =>
      headAt(cells, [9, 9, 4], head * cells.across + 10, layer * cells.down + 10);
    expect(middle(8, 1)).toEqual({ layer: 1, head: 8 });
    expect(middle(3, 2)).toEqual({ layer: 2, head: 3 });
    expect([middle(4, 2), middle(0, 3), headAt(cells, [9], -1, 5)]).toEqual([null, null, null]);
  });
  it("shows short texts in full and long ones pooled", () => {
    expect([inFull(atlas(2, 3), example(80)), inFull(atlas(2, 3), example(81))]).toEqual([true, false]);
    expect(inFull(atlas(2, 3), example(8, false))).toBe(false);
  });
  it("takes the map of each head, by words and without special tokens", () => {
    const first = [1, 0, 0, 0.5, 0.25, 0.25, 0, 1, 0];
    const second = [0, 0.5, 0.5, 0, 0.5, 0.5, 0.5, 0, 0.5];
    const layer: Layer = {
      values: Uint16Array.from([...first, ...second], code),
      size: 9,
      queries: tokens,
      keys: tokens,
      pooled: null,
    };
    const seen = seenHead(layer, 1, { special: true, words: false });
    [...seen.values].forEach((value, i) => expect(value).toBeCloseTo(second[i], 4));
    const words = seenHead(layer, 0, { special: true, words: true });
    expect([words.rows, words.columns]).toEqual([2, 2]);
    expect(words.values[3]).toBeCloseTo(0.75, 4); // the mean of 0.5 and 1
    expect(seenHead(layer, 0, { special: false, words: false }).values[0]).toBeCloseTo(0.5, 4);
  });
  it("draws only lines above the limit, with their weight as opacity", () => {
    const drawn: number[] = [];
    let alpha = 1;
    const pen = {
      set globalAlpha(value: number) {
        alpha = value;
      },
      beginPath() {},
      moveTo() {},
      lineTo() {},
      stroke: () => drawn.push(alpha),
    } as unknown as CanvasRenderingContext2D;
    const seen = { rows: 2, columns: 2, values: Float32Array.from([0.9, 0.1, 0.4, 0.6]) } as Seen;
    drawLines(pen, seen, 0.3, 0, 60);
    expect(drawn.map((value) => Number(value.toFixed(2)))).toEqual([0.4, 0.6, 0.9]);
    drawn.length = 0;
    const dense = { rows: 80, columns: 80, values: new Float32Array(6400).fill(0.5) } as Seen;
    drawLines(pen, dense, 0.1, 0, 26);
    expect(drawn.length).toBe(mostLines(26));
    expect(strongestLink({ ...seen, values: Float32Array.from([0, 0, 0.7, 0.3]) })).toMatchObject({ query: 1, key: 0 });
  });
  it("knows the pattern of a head on an example", () => {
    const labels = Uint16Array.from([0, 1, 2, 3, 4, 5, NOISE, MISSING]);
    const pattern = patternsOf(atlas(2, 2), labels, 1);
    expect([pattern(0, 0), pattern(0, 1), pattern(1, 0), pattern(1, 1)]).toEqual([4, 5, -1, null]);
    expect(patternsOf(atlas(2, 2), labels, -1)(0, 0)).toBeNull();
    expect(patternsOf(atlas(2, 2), undefined, 1)(0, 0)).toBeNull();
  });
  it("knows and counts the patterns of custom text", () => {
    const labels = [
      [3, 1],
      [3, null],
    ];
    const pattern = customPatterns({ labels, far: [], note: "" });
    expect([pattern(0, 0), pattern(1, 1), pattern(5, 0)]).toEqual([3, null, null]);
    expect(patternCounts(atlas(2, 2).model.layers, pattern)).toEqual([
      [3, 2],
      [1, 1],
    ]);
    expect(patternCounts(atlas(2, 2).model.layers, customPatterns(undefined))).toEqual([]);
  });
});

describe("views", () => {
  const seen = (size: number) => ({ rows: size, columns: size }) as Seen;
  it("follow the address where they are possible", () => {
    expect(chooseView("model", undefined, true)).toBe("model");
    expect([chooseView("arcs", seen(80), false), chooseView("arcs", seen(81), false)]).toEqual(["arcs", "flow"]);
    expect([chooseView(undefined, seen(20), false), chooseView(undefined, seen(20), true)]).toEqual(["arcs", "flow"]);
    expect(viewsFor(true, false).map(({ value }) => value)).toEqual(["flow", "model"]);
  });
});
