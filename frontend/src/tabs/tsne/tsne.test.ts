import { describe, expect, it } from "vitest";
import { TOP, UNPLACED } from "../../lib/encoding";
import type { HeadLayout, Tsne } from "../../lib/api";
import { WHOLE } from "../../points/camera";
import { quantileTicks, tickLabels, quantileAxis, roundTicks } from "../../points/axes";
import { nearest, planeOf } from "./plane";
import {
  best,
  focusOfPoint,
  importance,
  ordered,
  pointsOfFocus,
  headSentence,
  progressText,
  pointOffsets,
  defaultHead,
  defaultThreshold,
} from "./rank";

describe("quantile axes", () => {
  it("are the empirical distribution function if k equals n", () => {
    const axis = quantileAxis([0, 1, 2, 100], 4);
    expect(axis.forward(1)).toBeCloseTo(1 / 3);
    expect(axis.forward(51)).toBeCloseTo(5 / 6);
    expect([0, 1 / 3, 2 / 3, 1].map((place) => axis.inverse(place))).toEqual([0, 1, 2, 100]);
  });
  it("increase from 0 to 1 and can be inverted", () => {
    const values = Array.from({ length: 300 }, (_, i) => Math.sin(i * 12.9898) ** 3 * 40);
    const axis = quantileAxis(values);
    const sorted = [...values].sort((a, b) => a - b);
    const places = sorted.map((value) => axis.forward(value));
    expect(places[0]).toBe(0);
    expect(places[299]).toBe(1);
    places.forEach((place, i) => expect(place).toBeGreaterThanOrEqual(i ? places[i - 1] : 0));
    places.forEach((place, i) => expect(axis.inverse(place)).toBeCloseTo(sorted[i], 6));
    // equal steps hold equally many values
    const counts = [0, 0, 0, 0];
    for (const place of places) counts[Math.min(3, Math.floor(4 * place))]++;
    for (const count of counts) expect(Math.abs(count - 75)).toBeLessThan(4);
  });
  it("accept values that are all equal, NaN or missing", () => {
    expect(quantileAxis([3, 3, 3]).forward(3)).toBeCloseTo(0.5);
    expect(quantileAxis([NaN, 1, 2]).forward(2)).toBe(1);
    expect(quantileAxis([]).forward(2)).toBe(0);
  });
});

describe("ticks", () => {
  it("are round and inside", () => {
    const ticks = roundTicks(-7.3, 12.1, 5);
    expect(ticks.map(({ value }) => value)).toEqual([-5, 0, 5, 10]);
    expect(ticks[0].label).toBe("−5");
    expect(roundTicks(1, 1)).toEqual([]);
  });
  it("of quantile axes are equally spaced and show the original values", () => {
    const axis = quantileAxis([0, 1, 2, 3, 100], 5);
    expect(quantileTicks(axis, 0, 1).map(({ label }) => label)).toEqual(["0", "1", "2", "3", "100"]);
    const near = quantileTicks(axis, 0.7, 1);
    expect(near.length).toBeGreaterThanOrEqual(3);
    near.forEach(({ position }) => expect(position).toBeGreaterThanOrEqual(0.7 - 1e-9));
  });
  it("have as many digits as needed to differ", () => {
    expect(tickLabels([0.1234, 0.1299, 3])).toEqual(["0.12", "0.13", "3"]);
  });
});

describe("the plane", () => {
  const scale = { x: 2, y: -1, step: 0.001 };
  const positions = Uint16Array.from([0, 0, TOP, 40000, 32767, 32767, UNPLACED, UNPLACED]);
  it("keeps linear positions and unplaced points", () => {
    const { places, bounds } = planeOf(positions, scale, "linear", 2);
    expect([...places.slice(0, 6)]).toEqual([0, 0, TOP, 40000, 32767, 32767]);
    expect(places[6]).toBeNaN();
    expect(bounds).toEqual({ left: 0, bottom: 0, right: TOP, top: 40000 });
  });
  it("spreads quantile positions over the figure", () => {
    const { places } = planeOf(positions, scale, "quantile", 2);
    expect(places[0]).toBeCloseTo(-32767);
    expect(places[2]).toBeCloseTo(98301);
    expect(places[4]).toBeCloseTo(32767);
    expect(places[5]).toBeCloseTo(32767);
  });
  it("labels ticks with the original values", () => {
    const size = { width: 400, height: 400 };
    const { across } = planeOf(positions, scale, "linear", 1).ticks(WHOLE, size);
    const zero = across.find(({ label }) => label === "0")!;
    expect(zero.at).toBeCloseTo(200 + ((0 - 2) / 0.001) * (400 / TOP), 3);
  });
  it("finds the point under the pointer", () => {
    const { places } = planeOf(positions, scale, "linear", 1);
    const size = { width: 400, height: 400 };
    expect(nearest(places, WHOLE, size, 203, 198)).toBe(2);
    expect(nearest(places, WHOLE, size, 100, 100)).toBe(-1);
  });
});

const head = (layer: number, number: number, more: Partial<HeadLayout>): HeadLayout => ({
  layer,
  head: number,
  kl: [1],
  mass: 1,
  activity: 0,
  chain: 0,
  chain_mean: 0,
  notes: [],
  scale: { x: 0, y: 0, step: 1 },
  ...more,
});

describe("heads", () => {
  const heads = [
    head(0, 0, { kl: [2, 1.5], activity: 0.2, chain: 3, chain_mean: 1 }),
    head(0, 1, { kl: [null], activity: 0.9, chain: 3, chain_mean: 2, notes: ["every token attends to itself only"] }),
    head(1, 0, { kl: [0.5, 0.7], activity: 0.5, chain: 1 }),
  ];
  const tsne = { heads, restarts: 2 } as Tsne;
  it("are sorted; heads without KL come last", () => {
    expect(ordered(heads, "layer")).toEqual([0, 1, 2]);
    expect(ordered(heads, "kl")).toEqual([2, 0, 1]);
    expect(ordered(heads, "activity")).toEqual([1, 2, 0]);
    expect(ordered(heads, "chain")).toEqual([1, 0, 2]);
    expect(best(heads[1])).toBeNull();
    expect(defaultHead(tsne)).toEqual({ layer: 0, head: 1 });
  });
  it("are described in a sentence", () => {
    expect(headSentence(tsne, { layer: 0, head: 0 }, 9, "text")).toBe(
      "L0·H0, 3rd most active of 3 heads, reads these 9 tokens in chains of up to 3 steps: KL 1.50 to 2.00 in 2 restarts.",
    );
    expect(headSentence(tsne, { layer: 0, head: 1 }, 9, "text")).toContain("cannot be laid out");
    expect(headSentence(tsne, { layer: 7, head: 1 }, 9, "text")).toBe("");
  });
  it("report their progress", () => {
    expect(progressText({ done: 34, total: 78 }, 72)).toBe("Heads laid out: 34 of 72");
    expect(progressText({ done: 74, total: 78 }, 72)).toBe("Heads laid out: 72 of 72; layers of hidden states: 2 of 6");
    expect(progressText({ done: 0, total: 0 }, 72)).toContain("loaded");
  });
  it("are stored one after the other in a buffer", () => {
    expect([...pointOffsets([0, 0, 1], (layer) => (layer ? 5 : 3))]).toEqual([0, 3, 6, 11]);
  });
});

describe("what is pointed at", () => {
  it("is one point in self attention, a query or a key in cross attention", () => {
    expect(focusOfPoint(4, 10, true)).toEqual({ query: 4, key: 4 });
    expect(focusOfPoint(12, 10, false)).toEqual({ query: null, key: 2 });
    expect(focusOfPoint(-1, 10, true)).toBeNull();
    expect(pointsOfFocus({ query: 1, key: 2 }, 10, true)).toEqual([1, 2]);
    expect(pointsOfFocus({ query: 1, key: 2 }, 10, false)).toEqual([1, 12]);
  });
  it("has about one line per token, never of negligible attention", () => {
    const sharp = Float32Array.from({ length: 100 }, (_, i) => (i % 10 === Math.floor(i / 10) - 1 ? 0.9 : 0.01));
    expect(defaultThreshold(sharp, 10, true)).toBeCloseTo(0.02);
    expect(
      defaultThreshold(
        Float32Array.from({ length: 100 }, () => 0.1),
        10,
        true,
      ),
    ).toBeCloseTo(0.1);
    expect(
      defaultThreshold(
        Float32Array.from({ length: 9 }, (_, i) => (i % 4 ? 0.8 : 1)),
        3,
        true,
      ),
    ).toBeCloseTo(0.3);
  });
  it("has content words first", () => {
    expect(importance("lighthouse", false)).toBeGreaterThan(importance("of", false));
    expect(importance("of", false)).toBeGreaterThan(importance("##s", false));
    expect(importance("##s", false)).toBeGreaterThan(importance(",", false));
  });
});
