import { describe, expect, it } from "vitest";
import { cellShape, pathOf, type Ring } from "../lib/cell";
import { stackedDots } from "./dots";

/** The share of a square that an even-odd fill of rings covers, counted on a fine grid. */
function covered(rings: Ring[], side: number): number {
  let inside = 0;
  const steps = 200;
  for (let i = 0; i < steps; i++)
    for (let j = 0; j < steps; j++) {
      const [x, y] = [((i + 0.5) * side) / steps, ((j + 0.5) * side) / steps];
      let odd = false;
      for (const ring of rings)
        ring.forEach(([ax, ay], at) => {
          const [bx, by] = ring[(at + 1) % ring.length];
          if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) odd = !odd;
        });
      inside += Number(odd);
    }
  return inside / steps / steps;
}

describe("cells", () => {
  it("have four shapes, which cover different parts of the square and stay inside", () => {
    const shares = [0, 1, 2, 3].map((mark) => covered(cellShape(20, mark), 20));
    expect(shares[0]).toBe(1);
    expect(shares[1]).toBeCloseTo(1 - (12 / 20) ** 2, 2);
    expect(shares[2]).toBeCloseTo(0.5, 2);
    expect(shares[3]).toBeCloseTo(0.75, 2);
    for (const mark of [0, 1, 2, 3])
      for (const side of [4, 5, 7, 23])
        for (const [x, y] of cellShape(side, mark).flat())
          expect(Math.min(x, y, side - x, side - y)).toBeGreaterThanOrEqual(0);
  });
  it("are plain squares where shapes would be too small", () => {
    expect(cellShape(3, 2)).toEqual(cellShape(3, 0));
    expect(cellShape(5, 2)).not.toEqual(cellShape(5, 0));
  });
  it("become paths at their positions", () =>
    expect(pathOf(cellShape(2, 0), 10, 20)).toBe("M10 20L12 20L12 22L10 22Z"));
});

describe("dots", () => {
  it("at the same position become one, as dark as they are together", () => {
    const dots = stackedDots([{ value: 0 }, { value: 0.1 }, { value: 5 }], (value) => value);
    expect(dots.map((dot) => dot.x)).toEqual([0, 5]);
    expect(dots[0].opacity).toBeCloseTo(1 - 0.55 ** 2, 3);
    expect(dots[1].opacity).toBeCloseTo(0.45, 3);
  });
});
