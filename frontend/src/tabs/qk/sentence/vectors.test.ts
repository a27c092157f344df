import { expect, it } from "vitest";
import {
  attentionOf,
  dimensionOrder,
  extentsOf,
  headVectors,
  largestProduct,
  mainDimensions,
  productsOf,
  sumOf,
} from "./vectors";

/** Bits of small whole numbers as halves. */
const HALVES: Record<string, number> = { "-2": 0xc000, "-1": 0xbc00, 0: 0, 1: 0x3c00, 2: 0x4000, 3: 0x4200 };
const halves = (...values: number[]) => Uint16Array.from(values, (value) => HALVES[value]);

// two queries and three keys; four heads, of which pairs share two key heads; two dimensions
const layer = { heads: 4, key_heads: 2, width: 2, scaling: 0.5 };
const query = [0, 0, 1, 2, 0, 0, 3, 1, 0, 0, -1, 1, 0, 0, 2, 0]; // (query, head, dimension)
const key = [1, 0, 0, 3, 2, 1, 1, 1, -1, 2, 3, -2]; // (key, key head, dimension)
const norm = [1, 2, 3, 0, 1, 3]; // (key, key head)
const buffer = halves(...query, ...key, ...norm);

it("finds the part of a head, and of the key head it shares", () => {
  const first = headVectors(layer, buffer, 1, 2, 3)!;
  expect([...first.queries]).toEqual([1, 2, -1, 1]);
  expect([...first.keys]).toEqual([1, 0, 2, 1, -1, 2]);
  expect([...first.norms]).toEqual([1, 3, 1]);
  const last = headVectors(layer, buffer, 3, 2, 3)!;
  expect([...last.queries]).toEqual([3, 1, 2, 0]);
  expect([...last.keys]).toEqual([0, 3, 1, 1, 3, -2]);
  expect([...last.norms]).toEqual([2, 0, 3]);
  expect(headVectors(layer, buffer, 3, 2, 4)).toBeNull();
});

it("adds products up to scores, whose softmax is the attention", () => {
  const vectors = headVectors(layer, buffer, 1, 2, 3)!;
  expect([...productsOf(vectors, 0, 1)]).toEqual([1, 1]);
  const map = attentionOf(vectors, false);
  const scores = [0.5, 2, 1.5]; // of the first query
  const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
  scores.forEach((score, at) => expect(map[at]).toBeCloseTo(Math.exp(score) / total, 5));
  expect(sumOf(map.subarray(3))).toBeCloseTo(1, 5);
  const causal = attentionOf(vectors, true);
  expect([...causal.subarray(0, 3)]).toEqual([1, 0, 0]);
  expect(causal[5]).toBe(0);
});

it("scales strips by the largest values, and products by the largest of a query with any key", () => {
  const vectors = headVectors(layer, buffer, 1, 2, 3)!;
  const extents = extentsOf(vectors);
  expect(extents).toEqual({ query: 2, key: 2, keys: Float32Array.from([2, 2]) });
  expect([0, 1].map((query) => largestProduct(vectors, extents, query))).toEqual([2, 1]);
});

it("orders dimensions by product, and names those that make the score", () => {
  const products = Float32Array.from([0.5, -2, 3, 0]);
  expect(dimensionOrder(products, "dimension")).toEqual([0, 1, 2, 3]);
  expect(dimensionOrder(products, "product")).toEqual([2, 0, 3, 1]);
  expect(mainDimensions(products)).toEqual([2, 0]);
  expect(mainDimensions(Float32Array.from([1, -2, -3, 0]))).toEqual([2, 1]);
});
