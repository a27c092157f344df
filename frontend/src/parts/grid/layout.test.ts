import { describe, expect, it } from "vitest";
import { gridLayout, headAt, neighbor, rankedLayout, type Layout } from "./layout";
import { resampler } from "./resample";

const places = (layers: number, heads: number) =>
  Array.from({ length: layers * heads }, (_, at) => ({ layer: Math.floor(at / heads), head: at % heads }));
const space = (width: number, height: number, ratio = 1) => ({ width, height, ratio, resolution: 32 });
const pageSize = (layout: Layout) => [layout.width / layout.ratio, layout.height / layout.ratio];

/** No two cells share a pixel, and none leaves the canvas. */
function expectDisjoint(layout: Layout) {
  const cells = [...layout.x].map((x, at) => [x, layout.y[at] - layout.label]);
  const tall = layout.label + layout.map + 2 * layout.ratio + layout.strip;
  for (const [i, [x, y]] of cells.entries()) {
    expect(x).toBeGreaterThanOrEqual(0);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(x + layout.map).toBeLessThanOrEqual(layout.width);
    expect(y + tall).toBeLessThanOrEqual(layout.height + 1);
    for (const [ox, oy] of cells.slice(i + 1))
      expect(Math.abs(ox - x) >= layout.map || Math.abs(oy - y) >= tall - 1).toBe(true);
  }
}

describe("the grid", () => {
  it.each([1, 1.25, 2])("fills the space and stays inside it (%d device pixels)", (ratio) => {
    for (const [layers, heads, width, height] of [
      [6, 12, 850, 540],
      [30, 9, 850, 540],
      [12, 12, 1490, 820],
      [1, 1, 300, 300],
    ]) {
      const layout = gridLayout(places(layers, heads), layers, heads, false, space(width, height, ratio));
      const [w, h] = pageSize(layout);
      expect(w).toBeLessThanOrEqual(width + heads + 2); // rounding to device pixels
      expect(h).toBeLessThanOrEqual(height + layers + 2);
      expectDisjoint(layout);
    }
  });
  it("shows each value as whole pixels where that is nearly as large", () => {
    expect(gridLayout(places(6, 12), 6, 12, false, space(852, 560)).map).toBe(64);
  });
  it("places layers side by side rather than scrolling", () => {
    const layout = gridLayout(places(30, 9), 30, 9, false, space(852, 560));
    expect(layout.blocks.map(({ first, last }) => [first, last])).toEqual([
      [0, 9],
      [10, 19],
      [20, 29],
    ]);
    expect(pageSize(layout)[1]).toBeLessThanOrEqual(560);
  });
  it.each([
    [852, 540],
    [1492, 820],
    [1992, 1200],
  ])("fills the width with 30 layers of 9 heads (%d × %d)", (width, height) => {
    const layout = gridLayout(places(30, 9), 30, 9, false, space(width, height));
    expect(pageSize(layout)[0]).toBeGreaterThan(0.85 * width);
    expect(pageSize(layout)[1]).toBeLessThanOrEqual(height);
    expect(layout.map).toBeGreaterThanOrEqual(22);
  });
  it("scrolls when cells would be too small to read", () => {
    const layout = gridLayout(places(48, 32), 48, 32, false, space(852, 560));
    expect(layout.blocks.length).toBe(1);
    expect(layout.map).toBeGreaterThanOrEqual(20);
    expect(pageSize(layout)[0]).toBeLessThanOrEqual(852 - 16);
    expect(pageSize(layout)[1]).toBeGreaterThan(560);
  });
});

describe("pointing and moving", () => {
  const heads = places(3, 4).filter(({ layer, head }) => !(layer === 1 && head > 1)); // layer 1 has two heads
  const layout = gridLayout(heads, 3, 4, false, space(400, 300, 2));
  it("finds the head under the pointer, and none beside the grid", () => {
    heads.forEach((_, at) => expect(headAt(layout, (layout.x[at] + 3) / 2, (layout.y[at] + 3) / 2)).toBe(at));
    expect(headAt(layout, 2, 2)).toBe(-1);
    expect(headAt(layout, 399, 150)).toBe(-1); // a head that does not exist
  });
  it("moves by position on the screen, and stops at the edge", () => {
    const at = (layer: number, head: number) =>
      heads.findIndex((place) => place.layer === layer && place.head === head);
    expect(neighbor(layout, at(0, 0), "right")).toBe(at(0, 1));
    expect(neighbor(layout, at(0, 0), "left")).toBe(at(0, 0));
    expect(neighbor(layout, at(0, 3), "down")).toBe(at(2, 3)); // straight ahead, over the missing one
    expect(neighbor(layout, at(2, 1), "up")).toBe(at(1, 1));
  });
  it("ranks row by row in the order given", () => {
    const ranked = rankedLayout([2, 0, 1], space(130, Infinity));
    expectDisjoint(ranked);
    expect(ranked.columns).toBe(2);
    expect(ranked.x[2]).toBeLessThan(ranked.x[0]);
    expect(ranked.y[1]).toBeGreaterThan(ranked.y[0]);
    expect(neighbor(ranked, 2, "right")).toBe(0);
  });
});

describe("resampling", () => {
  const values = Array.from({ length: 16 }, (_, i) => (i * 7) % 11);
  const mean = (all: ArrayLike<number>) => Array.from(all).reduce((sum, value) => sum + value, 0) / all.length;
  it("keeps a map of the same size, and doubles each pixel at twice the size", () => {
    expect([...resampler(4, 4)(values)]).toEqual(values);
    const twice = resampler(4, 8)(values);
    for (let i = 0; i < 64; i++) expect(twice[i]).toBe(values[4 * (Math.floor(i / 8) >> 1) + ((i % 8) >> 1)]);
  });
  it.each([3, 5, 7, 2])("keeps the mean at any size (%d)", (size) => {
    expect(mean(resampler(4, size)(values))).toBeCloseTo(mean(values), 4);
  });
});
