import { describe, expect, it } from "vitest";
import { TOP, UNPLACED } from "../lib/encoding";
import { quantileAxis } from "./axes";
import { fitted, WHOLE } from "./camera";
import { warpPolygon, quantileLayout, cachedQuantileLayout, layoutTicks } from "./quantile";
import { samePlaced } from "./order";
import { boundsOf, GridIndex } from "./pick";

let seed = 5;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

/** Dense in the center, with outliers; every 50th point is unplaced, every 7th has the same x. */
function denseCloud(count: number): Uint16Array {
  const out = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    const coordinate = (u = random() * 2 - 1) => Math.round(32767 + 32767 * u * Math.abs(u));
    [out[2 * i], out[2 * i + 1]] = i % 50 === 49 ? [UNPLACED, UNPLACED] : [i % 7 ? coordinate() : 32000, coordinate()];
  }
  return out;
}
const positions = denseCloud(5000);
const placed = Array.from({ length: 5000 }, (_, i) => i).filter((i) => positions[2 * i] !== UNPLACED);
const layout = quantileLayout(positions);

describe("points on quantile axes", () => {
  it("agree with the quantile axis of their coordinates", () => {
    for (const axis of [0, 1]) {
      const exact = quantileAxis(placed.map((i) => positions[2 * i + axis]));
      for (const i of placed)
        expect(layout.positions[2 * i + axis]).toBe(Math.round(TOP * exact.forward(positions[2 * i + axis])));
    }
  });
  it("keep their order, reach both ends, and stay unplaced if they were", () => {
    for (const axis of [0, 1]) {
      const order = [...placed].sort((a, b) => positions[2 * a + axis] - positions[2 * b + axis]);
      const sorted = order.map((i) => layout.positions[2 * i + axis]);
      sorted.forEach((position, k) => expect(position).toBeGreaterThanOrEqual(k ? sorted[k - 1] : 0));
      expect([sorted[0], sorted[sorted.length - 1]]).toEqual([0, TOP]);
    }
    expect(boundsOf(layout.positions)).toEqual({ left: 0, bottom: 0, right: TOP, top: TOP });
    for (let i = 49; i < 5000; i += 50)
      expect([layout.positions[2 * i], layout.positions[2 * i + 1]]).toEqual([UNPLACED, UNPLACED]);
    expect(samePlaced(positions, layout.positions)).toBe(true);
    expect(samePlaced(positions, layout.positions.slice(2))).toBe(false);
  });
  it("are spread evenly", () => {
    const counts = new Array(10).fill(0);
    for (const i of placed) counts[Math.min(9, Math.floor((10 * layout.positions[2 * i + 1]) / (TOP + 1)))]++;
    for (const count of counts) expect(Math.abs(count - placed.length / 10)).toBeLessThan(placed.length / 60);
  });
  it("can be transformed back", () => {
    for (const i of placed.slice(0, 300)) {
      const [x, y] = layout.toLinear(...layout.toQuantile(positions[2 * i], positions[2 * i + 1]));
      expect(x).toBeCloseTo(positions[2 * i], 5);
      expect(y).toBeCloseTo(positions[2 * i + 1], 5);
    }
  });
  it("stay together if they are tied, at the mean of their quantiles", () => {
    const tied = layout.positions[0]; // x of every seventh point
    const below = placed.filter((i) => positions[2 * i] < 32000).length;
    const same = placed.filter((i) => positions[2 * i] === 32000).length;
    expect(same).toBeGreaterThan(600);
    expect(Math.abs(tied / TOP - (below + same / 2) / placed.length)).toBeLessThan(0.011);
  });
  it("may be one, all equal, or none", () => {
    expect([...quantileLayout(Uint16Array.from([7, 9])).positions]).toEqual([32767, 32767]);
    expect([...quantileLayout(Uint16Array.from([7, 9, 7, 9, 7, 9])).positions]).toEqual(new Array(6).fill(32767));
    expect([...quantileLayout(Uint16Array.from([UNPLACED, UNPLACED])).positions]).toEqual([UNPLACED, UNPLACED]);
    expect(quantileLayout(new Uint16Array(0)).positions.length).toBe(0);
  });
  it("are computed once per array", () => {
    expect(cachedQuantileLayout(positions)).toBe(cachedQuantileLayout(positions));
  });
});

describe("ticks", () => {
  const scale = { x: 2, y: -1, step: 0.001 };
  const size = { width: 500, height: 500 };
  it("show values at equal distances", () => {
    const { across, up } = layoutTicks(layout, scale)(WHOLE, size);
    expect(across.map(({ at }) => Math.round(at))).toEqual([0, 125, 250, 375, 500]);
    expect(up.map(({ at }) => Math.round(at))).toEqual([500, 375, 250, 125, 0]);
    const values = placed.map((i) => -1 + (positions[2 * i + 1] - 32767) * 0.001).sort((a, b) => a - b);
    const numbers = up.map(({ label }) => Number(label.replace("−", "-")));
    [0, 0.25, 0.5, 0.75, 1].forEach((share, k) => {
      const exact = values[Math.round(share * (values.length - 1))];
      expect(Math.abs(numbers[k] - exact)).toBeLessThan(0.05 * Math.abs(exact) + 0.01);
    });
  });
  it("follow the camera and have distinct labels", () => {
    for (const zoom of [1, 3, 20, 200]) {
      const { across } = layoutTicks(layout, scale)([20000, 45000, zoom], size);
      expect(across.length).toBeGreaterThan(1);
      across.forEach(({ at }) => expect(at >= -1e-6 && at <= 500 + 1e-6).toBe(true));
      expect(new Set(across.map(({ label }) => label)).size).toBe(across.length);
    }
  });
  it("are reduced to one if all values are equal", () => {
    const single = quantileLayout(Uint16Array.from([32767, 9, 32767, 80]));
    const { across, up } = layoutTicks(single, { x: 4, y: 0, step: 0.5 })(
      fitted(boundsOf(single.positions), size),
      size,
    );
    expect(across.map(({ label }) => label)).toEqual(["4"]);
    expect(up.length).toBe(5);
    expect(layoutTicks(single, { x: 4, y: 3, step: 0 })(WHOLE, size).across.map(({ label }) => label)).toEqual(["4"]);
  });
});

describe("a lasso", () => {
  it("contains the same points on other axes", () => {
    const lasso = [
      [22000, 20000],
      [45000, 26000],
      [40000, 52000],
      [18000, 44000],
    ] as const;
    const inside = new Set(new GridIndex(positions).inside(lasso));
    const warped = new Set(new GridIndex(layout.positions).inside(warpPolygon(lasso, layout.toQuantile)));
    expect(inside.size).toBeGreaterThan(1000);
    const different =
      [...inside].filter((i) => !warped.has(i)).length + [...warped].filter((i) => !inside.has(i)).length;
    expect(different).toBeLessThan(0.01 * inside.size); // curves are approximated by straight pieces
    const back = warpPolygon(warpPolygon(lasso, layout.toQuantile), layout.toLinear);
    expect(back[0][0]).toBeCloseTo(22000, 3);
  });
});
