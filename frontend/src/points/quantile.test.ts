import { describe, expect, it } from "vitest";
import { TOP, UNPLACED } from "../lib/encoding";
import { quantileAxis } from "./axes";
import { fitted, WHOLE } from "./camera";
import { warpPolygon, quantileLayout, cachedQuantileLayout, layoutTicks } from "./quantile";
import { alike } from "./order";
import { boundsOf, GridIndex } from "./pick";

let seed = 5;
const chance = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

/** Crowded in the middle, with far outliers; every 50th has no place, every 7th the same coordinate across. */
function crowd(count: number): Uint16Array {
  const out = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    const spread = (far = chance() * 2 - 1) => Math.round(32767 + 32767 * far * Math.abs(far));
    [out[2 * i], out[2 * i + 1]] = i % 50 === 49 ? [UNPLACED, UNPLACED] : [i % 7 ? spread() : 32000, spread()];
  }
  return out;
}
const positions = crowd(5000);
const known = Array.from({ length: 5000 }, (_, i) => i).filter((i) => positions[2 * i] !== UNPLACED);
const found = quantileLayout(positions);

describe("points on quantile axes", () => {
  it("lie where the axis of all their coordinates puts them", () => {
    for (const axis of [0, 1]) {
      const slow = quantileAxis(known.map((i) => positions[2 * i + axis]));
      for (const i of known)
        expect(found.places[2 * i + axis]).toBe(Math.round(TOP * slow.forward(positions[2 * i + axis])));
    }
  });
  it("keep their order, reach both ends, and have no place where they had none", () => {
    for (const axis of [0, 1]) {
      const order = [...known].sort((a, b) => positions[2 * a + axis] - positions[2 * b + axis]);
      const places = order.map((i) => found.places[2 * i + axis]);
      places.forEach((place, k) => expect(place).toBeGreaterThanOrEqual(k ? places[k - 1] : 0));
      expect([places[0], places[places.length - 1]]).toEqual([0, TOP]);
    }
    expect(boundsOf(found.places)).toEqual({ left: 0, bottom: 0, right: TOP, top: TOP });
    for (let i = 49; i < 5000; i += 50)
      expect([found.places[2 * i], found.places[2 * i + 1]]).toEqual([UNPLACED, UNPLACED]);
    expect(alike(positions, found.places)).toBe(true);
    expect(alike(positions, found.places.slice(2))).toBe(false);
  });
  it("are spread evenly", () => {
    const counts = new Array(10).fill(0);
    for (const i of known) counts[Math.min(9, Math.floor((10 * found.places[2 * i + 1]) / (TOP + 1)))]++;
    for (const count of counts) expect(Math.abs(count - known.length / 10)).toBeLessThan(known.length / 60);
  });
  it("come back", () => {
    for (const i of known.slice(0, 300)) {
      const [x, y] = found.from(...found.to(positions[2 * i], positions[2 * i + 1]));
      expect(x).toBeCloseTo(positions[2 * i], 5);
      expect(y).toBeCloseTo(positions[2 * i + 1], 5);
    }
  });
  it("that are many at one coordinate stay together, in the middle of their quantiles", () => {
    const tied = found.places[0]; // of 32000, which every seventh has
    const below = known.filter((i) => positions[2 * i] < 32000).length;
    const same = known.filter((i) => positions[2 * i] === 32000).length;
    expect(same).toBeGreaterThan(600);
    expect(Math.abs(tied / TOP - (below + same / 2) / known.length)).toBeLessThan(0.011);
  });
  it("may be one, all alike, or none", () => {
    expect([...quantileLayout(Uint16Array.from([7, 9])).places]).toEqual([32767, 32767]);
    expect([...quantileLayout(Uint16Array.from([7, 9, 7, 9, 7, 9])).places]).toEqual(new Array(6).fill(32767));
    expect([...quantileLayout(Uint16Array.from([UNPLACED, UNPLACED])).places]).toEqual([UNPLACED, UNPLACED]);
    expect(quantileLayout(new Uint16Array(0)).places.length).toBe(0);
  });
  it("are computed once", () => {
    expect(cachedQuantileLayout(positions)).toBe(cachedQuantileLayout(positions));
  });
});

describe("ticks", () => {
  const frame = { x: 2, y: -1, step: 0.001 };
  const size = { width: 500, height: 500 };
  it("carry the values of the frame at equal steps", () => {
    const { across, up } = layoutTicks(found, frame)(WHOLE, size);
    expect(across.map(({ at }) => Math.round(at))).toEqual([0, 125, 250, 375, 500]);
    expect(up.map(({ at }) => Math.round(at))).toEqual([500, 375, 250, 125, 0]);
    const own = known.map((i) => -1 + (positions[2 * i + 1] - 32767) * 0.001).sort((a, b) => a - b);
    const numbers = up.map(({ label }) => Number(label.replace("−", "-")));
    [0, 0.25, 0.5, 0.75, 1].forEach((share, k) => {
      const exact = own[Math.round(share * (own.length - 1))];
      expect(Math.abs(numbers[k] - exact)).toBeLessThan(0.05 * Math.abs(exact) + 0.01);
    });
  });
  it("follow the camera, and tell their values apart", () => {
    for (const zoom of [1, 3, 20, 200]) {
      const { across } = layoutTicks(found, frame)([20000, 45000, zoom], size);
      expect(across.length).toBeGreaterThan(1);
      across.forEach(({ at }) => expect(at >= -1e-6 && at <= 500 + 1e-6).toBe(true));
      expect(new Set(across.map(({ label }) => label)).size).toBe(across.length);
    }
  });
  it("are one where all values are", () => {
    const single = quantileLayout(Uint16Array.from([32767, 9, 32767, 80]));
    const { across, up } = layoutTicks(single, { x: 4, y: 0, step: 0.5 })(fitted(boundsOf(single.places), size), size);
    expect(across.map(({ label }) => label)).toEqual(["4"]);
    expect(up.length).toBe(5);
    expect(layoutTicks(single, { x: 4, y: 3, step: 0 })(WHOLE, size).across.map(({ label }) => label)).toEqual(["4"]);
  });
});

describe("a lasso", () => {
  it("holds the same maps on other axes", () => {
    const lasso = [
      [22000, 20000],
      [45000, 26000],
      [40000, 52000],
      [18000, 44000],
    ] as const;
    const inside = new Set(new GridIndex(positions).inside(lasso));
    const there = new Set(new GridIndex(found.places).inside(warpPolygon(lasso, found.to)));
    expect(inside.size).toBeGreaterThan(1000);
    const differ = [...inside].filter((i) => !there.has(i)).length + [...there].filter((i) => !inside.has(i)).length;
    expect(differ).toBeLessThan(0.01 * inside.size); // an outline is made of straight pieces
    const back = warpPolygon(warpPolygon(lasso, found.to), found.from);
    expect(back[0][0]).toBeCloseTo(22000, 3);
  });
});
