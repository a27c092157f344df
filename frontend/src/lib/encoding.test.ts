import { expect, it } from "vitest";
import {
  decodeAmount,
  decodeAttention,
  decodeCode,
  decodeHalf,
  decodeLabel,
  decodePosition,
  encodeCode,
  encodeLabel,
  encodePosition,
} from "./encoding";

// The same examples as in src/headatlas/web/api/encoding.py.
it("decodes labels", () => {
  expect([3, 65535, 65534].map(decodeLabel)).toEqual([3, -1, null]);
  expect([3, -1].map(encodeLabel)).toEqual([3, 65535]);
});

it("decodes amounts", () => {
  expect([0, 32767, 65534, 65535].map((amount) => decodeAmount(amount, { low: 2, high: 4 }))).toEqual([2, 3, 4, NaN]);
  expect(decodeAmount(65534, { low: null, high: null })).toBe(0);
});

it("decodes codes", () => {
  expect([0, 7, 65535].map(decodeCode)).toEqual([0, 7, null]);
  expect([0, 7, null, undefined].map(encodeCode)).toEqual([0, 7, 65535, 65535]);
});

it("decodes positions", () => {
  expect([0, 32767, 65534].map((coordinate) => decodePosition(coordinate, 1, 2 / 65534))).toEqual([0, 1, 2]);
  for (const value of [-3, 0, 2.5]) expect(decodePosition(encodePosition(value, 1, 0.25), 1, 0.25)).toBe(value);
});

it("decodes attention", () => {
  expect([0, 65535].map(decodeAttention)).toEqual([0, 1]);
  expect(decodeAttention(32768)).toBeCloseTo(0.25, 4);
});

it("decodes halves", () => {
  expect([0, 15360, 49152, 31743].map(decodeHalf)).toEqual([0, 1, -2, 65504]);
  expect(decodeHalf(1)).toBeCloseTo(2 ** -24, 12);
  expect([decodeHalf(32256), decodeHalf(31744), decodeHalf(64512)]).toEqual([NaN, Infinity, -Infinity]);
});
