import { expect, it } from "vitest";
import type { Bundle } from "../../examples/maps";
import type { Seen } from "../../examples/reduce";
import { agrees } from "./agree";
import { pairOf, weighted } from "./pair";

const unit = (token: number) => ({ text: String(token), tokens: [token], special: false, segment: 0, space: false });
const units = [4, 5, 6].map(unit);
const values = Float32Array.from([0.1, 0.2, 0.7, 0.5, 0.3, 0.2, 0.1, 0.8, 0.1]);
const seen: Seen = { rows: 3, columns: 3, values, queries: units, keys: units, same: true, empty: 0 };
const cross: Seen = { ...seen, keys: [0, 1, 2].map(unit), same: false };
const both = (token: number) => ({ query: token, key: token });

it("shows what is pinned: the query, then the key, else the strongest key", () => {
  expect(pairOf(seen, [both(0), both(1)], null)).toEqual({ query: 0, key: 1 });
  expect(pairOf(seen, [both(0), null], null)).toEqual({ query: 0, key: 2 });
  expect(
    pairOf(
      cross,
      [
        { query: null, key: 1 },
        { query: 0, key: null },
      ],
      null,
    ),
  ).toEqual({ query: 0, key: 1 });
  expect(pairOf(cross, [{ query: null, key: 0 }, null], null)).toEqual({ query: 1, key: 0 });
});

it("follows the pointer, and without it shows the strongest pair", () => {
  expect(pairOf(seen, [both(0), both(1)], both(2))).toEqual({ query: 0, key: 2 });
  expect(pairOf(seen, [null, null], both(1))).toEqual({ query: 1, key: 0 });
  expect(pairOf(cross, [null, null], { query: null, key: 2 })).toEqual({ query: 0, key: 2 });
  expect(pairOf(seen, [null, null], null)).toEqual({ query: 2, key: 1 });
  expect(pairOf({ ...seen, rows: 0 }, [null, null], null)).toBeNull();
});

it("takes the token of a point that is a key as the key", () => {
  expect(pairOf(seen, [both(0), null], null, true)).toEqual({ query: 1, key: 0 });
});

it("weights attention by the norms of values, by token", () => {
  const norms = Float32Array.from([0, 0, 0, 0, 2, 10, NaN]);
  const row = [...weighted(seen, norms).values.subarray(0, 3)];
  expect(row.map((value) => Number(value.toFixed(3)))).toEqual([0.2, 2, 0]);
});

it("takes a map from vectors only if it pools to the stored one", () => {
  const tokens = [0, 1, 2, 3].map((word) => ({ text: "", word, special: false, segment: 0 }));
  const map = Float32Array.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
  const bundle = { mean: Float32Array.from([1, 0, 0, 1]), pooled: 2, queries: tokens, keys: tokens } as Bundle;
  expect(agrees(map, bundle)).toBe(true);
  expect(agrees(map, { ...bundle, mean: Float32Array.from([0.9, 0.1, 0, 1]) })).toBe(false);
  expect(agrees(map.subarray(4), bundle)).toBe(false);
});
