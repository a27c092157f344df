import { describe, expect, it } from "vitest";
import { TOP, UNKNOWN, UNPLACED } from "../../lib/encoding";
import { fitted } from "../../points/camera";
import { DIMMED, NORMAL, SELECTED } from "../../points/style";
import {
  categoryHex,
  codedAmounts,
  codedRoles,
  codedTokens,
  colorTable,
  KEY_MARK,
  pointKeys,
  QUERY_MARK,
} from "./coding";
import { cellKeys, cellsOf, cellStates, flat, joined, measuredKeys, ofTokens, together } from "./matrix/cells";
import { boundsOfGrid, cellBox, gridOf, isVisible, nextHead, placeAt } from "./matrix/grid";
import { keysOf, queriesOf } from "./single/links";
import { farApart, nearestOn } from "./single/near";
import { shares } from "./single/shares";
import { common, misplacedShare, pointStates, pointsOf } from "./single/states";
import { readTurn, turnBy, turned, writeTurn } from "./single/turn";
import { exampleOf, findTokens, roleOf, tokenOf } from "./tokens";

const TEXTS = ["[CLS]", "the", " The", "##ing", "theory", "é"];
const tokens = {
  example: [0, 0, 0, 0, 2, 2, 2],
  position: [0, 1, 2, 3, 0, 1, 2],
  text: [0, 1, 3, 4, 0, 2, 5],
  texts: TEXTS,
  special: [0, 4],
  target: [],
  sample: [0, 2, 5],
};

describe("search", () => {
  it("finds every occurrence of exactly this token, without case, accents and spaces", () => {
    const found = findTokens(tokens, "the")!;
    expect([...found.tokens]).toEqual([1, 5]);
    expect(found.examples).toBe(2);
    expect(found.texts.map(({ text, count }) => [text, count])).toEqual([
      ["the", 1],
      ["The", 1],
    ]);
    expect([...findTokens(tokens, "##ing")!.tokens]).toEqual([2]);
    expect([...findTokens(tokens, "E")!.tokens]).toEqual([6]);
  });
  it("finds tokens that contain it, if asked to", () => {
    expect([...findTokens(tokens, "the", true)!.tokens]).toEqual([1, 3, 5]);
    expect([...findTokens(tokens, "nowhere", true)!.tokens]).toEqual([]);
    expect(findTokens(tokens, "  ")).toBeNull();
  });
  it("knows tokens, roles and examples of points", () => {
    expect([3, 7, 10].map((point) => [tokenOf(point, 7), roleOf(point, 7)])).toEqual([
      [3, "query"],
      [0, "key"],
      [3, "key"],
    ]);
    expect(exampleOf(tokens, 2)).toEqual([0, 4]);
    expect(exampleOf(tokens, 6)).toEqual([4, 7]);
  });
});

describe("colors", () => {
  const column = {
    name: "c",
    label: "c",
    definition: "",
    kind: "category" as const,
    encoding: "code" as const,
    low: null,
    high: null,
    unit: "",
    categories: ["a", "b"],
  };
  it("have an entry for queries and one for keys", () => {
    const coded = codedTokens(Uint16Array.of(1, 0, UNKNOWN), column);
    expect(coded.categories!.map(({ name, count }) => [name, count])).toEqual([
      ["a", 1],
      ["b", 1],
      ["unknown", 1],
    ]);
    expect([...pointKeys(coded)]).toEqual([1, 0, 2, 4, 3, 5]);
    expect([...pointKeys(coded, Uint32Array.of(2, 0))]).toEqual([2, 1, 5, 4]);
    const { lut, marks } = colorTable(coded, "light");
    expect([...lut.subarray(0, 12)]).toEqual([...lut.subarray(12)]);
    expect([...marks]).toEqual([QUERY_MARK, QUERY_MARK, QUERY_MARK, KEY_MARK, KEY_MARK, KEY_MARK]);
  });
  it("of roles differ", () => {
    const coded = codedRoles(2);
    expect([...pointKeys(coded)]).toEqual([0, 0, 1, 1]);
    const { lut } = colorTable(coded, "dark");
    expect([...lut.subarray(0, 3)]).not.toEqual([...lut.subarray(4, 7)]);
  });
  it("of thirty categories differ, more are gray", () => {
    const colors = Array.from({ length: 30 }, (_, number) => categoryHex(number, "light"));
    expect(new Set(colors).size).toBe(30);
    expect(categoryHex(31, "light")).toBe(categoryHex(-1, "light"));
  });
  it("of hues are what they are", () => {
    const values = Uint16Array.from({ length: 361 }, (_, degrees) => Math.round((degrees / 360) * TOP));
    const coded = codedTokens(values, {
      ...column,
      name: "hue",
      kind: "number",
      encoding: "amount",
      low: 0,
      high: 360,
    });
    const { lut } = colorTable(coded, "light");
    const at = (degrees: number) => [...lut.subarray(4 * coded.keys[degrees], 4 * coded.keys[degrees] + 3)];
    const strongest = (rgb: number[]) => rgb.indexOf(Math.max(...rgb));
    expect([5, 120, 240].map((degrees) => strongest(at(degrees)))).toEqual([0, 1, 2]);
  });
});

describe("the matrix", () => {
  const size = { width: 900, height: 560 };
  it("continues in further blocks where there are many layers", () => {
    expect(
      [gridOf(12, 12), gridOf(6, 12), gridOf(30, 9), gridOf(48, 32)].map(({ blocks, rows }) => [blocks, rows]),
    ).toEqual([
      [1, 12],
      [1, 6],
      [2, 15],
      [2, 24],
    ]);
  });
  it("finds the head of every cell", () => {
    for (const [layers, heads] of [
      [12, 12],
      [30, 9],
      [48, 32],
      [1, 1],
    ]) {
      const grid = gridOf(layers, heads);
      const camera = fitted(boundsOfGrid(grid), size, 26);
      for (let layer = 0; layer < layers; layer++)
        for (let head = 0; head < heads; head++) {
          const box = cellBox(grid, camera, size, { layer, head });
          expect(isVisible(box, size)).toBe(true);
          const at = placeAt(grid, camera, size, box.x + box.width / 2, box.y + box.height / 2);
          expect(at).toEqual({ layer, head });
        }
      expect(placeAt(grid, camera, size, 2, 2)).toBeNull();
    }
  });
  it("steps from head to head", () => {
    const heads = [2, 0, 3];
    expect(nextHead(heads, { layer: 0, head: 0 }, "ArrowRight")).toEqual({ layer: 0, head: 1 });
    expect(nextHead(heads, { layer: 0, head: 1 }, "ArrowRight")).toEqual({ layer: 0, head: 1 });
    expect(nextHead(heads, { layer: 0, head: 1 }, "ArrowDown")).toEqual({ layer: 2, head: 1 });
    expect(nextHead(heads, { layer: 2, head: 2 }, "ArrowUp")).toEqual({ layer: 0, head: 1 });
    expect(nextHead(heads, { layer: 0, head: 0 }, "ArrowUp")).toEqual({ layer: 0, head: 0 });
  });
  it("repeats keys and states in the panel of every head", () => {
    const sample = Uint32Array.of(0, 2);
    const positions = new Uint16Array(2 * 2 * 4 * 2); // two layers with room for two heads, four points each
    const cells = cellsOf([0, 1], (layer) => 1 + layer, 2, positions, 2, sample);
    expect(cells.places).toEqual([
      { layer: 0, head: 0 },
      { layer: 1, head: 0 },
      { layer: 1, head: 1 },
    ]);
    expect(cells.groups).toEqual([0, 8, 12].map((first) => ({ first, count: 4 })));
    const coded = { ...codedRoles(3), keys: Uint16Array.of(5, 6, 7), size: 8 };
    expect([...cellKeys(cells, coded)]).toEqual(Array(4).fill([5, 7, 13, 15]).flat());
    expect([...cellStates(cells, Uint32Array.of(2), 3)!.subarray(0, 5)]).toEqual([
      DIMMED,
      SELECTED,
      DIMMED,
      SELECTED,
      DIMMED,
    ]);
    expect(cellStates(cells, null, 3)).toBeNull();
    const measured = codedAmounts(new Uint16Array(16), 0, 1);
    expect([...measuredKeys(cells, measured).subarray(0, 5)]).toEqual([0, 0, measured.size, measured.size, 0]);
  });
  it("adds the points of found tokens to those of the sample", () => {
    const sample = Uint16Array.of(1, 2, 101, 102, 11, 12, 111, 112); // two panels, each with two queries and two keys
    const every = Uint16Array.of(1, 2, 3, 101, 102, 103, 11, 12, 13, 111, 112, 113); // of three tokens
    const found = ofTokens(every, Uint32Array.of(2), 3, 1);
    expect([...found]).toEqual([3, 103, 13, 113]);
    expect([...together(sample, found, 2)]).toEqual([...every]);
    expect([...together(sample, new Uint16Array(), 2)]).toEqual([...sample]);
    const pairs = Uint16Array.of(1, 2, 3, 4, 5, 6, 7, 8); // one panel of two tokens, each with a place (x, y)
    expect([...ofTokens(pairs, Uint32Array.of(1), 2, 2)]).toEqual([3, 4, 7, 8]);
  });
  it("shows the first two of three axes", () => {
    expect([...flat(Uint16Array.of(1, 2, 3, 4, 5, 6), 3)]).toEqual([1, 2, 4, 5]);
    expect([...joined([Uint16Array.of(1), Uint16Array.of(2, 3)])]).toEqual([1, 2, 3]);
  });
});

describe("one head", () => {
  it("turns points about their center", () => {
    const points = Uint16Array.of(TOP, TOP / 2, TOP / 2, TOP / 2, TOP / 2, TOP, UNPLACED, UNPLACED, UNPLACED);
    expect([...turned(points, [0, 0])]).toEqual([TOP, TOP / 2, TOP / 2, TOP / 2, UNPLACED, UNPLACED]);
    expect([...turned(points, [90, 0])]).toEqual([TOP / 2, TOP / 2, TOP, TOP / 2, UNPLACED, UNPLACED]);
    expect([...turned(points, [0, 90])].slice(2, 4)).toEqual([TOP / 2, 0]);
  });
  it("keeps the direction in the address", () => {
    expect(readTurn(writeTurn(turnBy([350, 80], 50, 50)))).toEqual([10, 90]);
    expect([readTurn("x"), readTurn("1,2,3"), readTurn(undefined)]).toEqual([null, null, null]);
  });
  it("reads the strongest keys of queries, and queries of keys", () => {
    const ranks = 2;
    const buffer = new Uint16Array(2 * 7 * ranks).fill(0);
    buffer.fill(UNKNOWN, 0, 7 * ranks);
    buffer.set([2, 1], 5 * ranks); // token 5 attends to tokens 6 and 5
    buffer.set([2], 4 * ranks);
    buffer.set([65535, 32768], 7 * ranks + 5 * ranks);
    buffer.set([16384], 7 * ranks + 4 * ranks);
    expect(keysOf(buffer, tokens, 5).map(({ key, weight }) => [key, Number(weight.toFixed(2))])).toEqual([
      [6, 1],
      [5, 0.25],
    ]);
    expect(queriesOf(buffer, tokens, 6).map(({ query }) => query)).toEqual([5, 4]);
    expect(keysOf(buffer, tokens, 0)).toEqual([]);
  });
  it("finds neighbors, and points far apart", () => {
    const positions = Uint16Array.of(0, 0, 10, 0, 20, 0, 1000, 0, UNPLACED, UNPLACED);
    expect(nearestOn(positions, 2, 0, 2)).toEqual([1, 2]);
    expect(nearestOn(positions, 2, 4, 2)).toEqual([]);
    expect(farApart(positions, [0, 1, 2, 3, 4], 2)).toEqual([0, 3]);
    expect(farApart(Uint16Array.of(5, 5, 5, 5), [0, 1], 2)).toEqual([0]);
  });
  it("fades misplaced points, or all that are not picked", () => {
    const trust = Uint16Array.of(0, TOP / 2, TOP, UNKNOWN);
    expect(misplacedShare(trust, 0.2)).toBeCloseTo(1 / 3);
    expect(misplacedShare(Uint16Array.of(UNKNOWN), 0.2)).toBeNull();
    expect([...pointStates(3, null, Uint8Array.of(1, 0, 0))]).toEqual([DIMMED, NORMAL, NORMAL]);
    expect([...pointStates(3, Uint32Array.of(1), Uint8Array.of(0, 1, 0))]).toEqual([DIMMED, SELECTED, DIMMED]);
    expect([...pointsOf(Uint32Array.of(1, 4), 5)]).toEqual([1, 4, 6, 9]);
    expect([...common(Uint32Array.of(1, 4, 6), Uint32Array.of(4, 6, 9))!]).toEqual([4, 6]);
    expect(common(null, null)).toBeNull();
  });
  it("counts the values of the selected", () => {
    const rows = shares(Uint32Array.of(0, 0, 1), Uint32Array.of(0, 1, 2, 3), (token) => token % 2, String);
    expect(rows.map(({ label, count, share, all, baseline }) => [label, count, share, all, baseline])).toEqual([
      ["0", 2, 2 / 3, 2, 0.5],
      ["1", 1, 1 / 3, 2, 0.5],
    ]);
  });
});
