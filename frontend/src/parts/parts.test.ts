import { describe, expect, it } from "vitest";
import { cellShape, pathOf, type Ring } from "../lib/cell";
import { dotsOf } from "./dots";

/** The area that an even-odd fill of rings covers, counted on fine points. */
function covered(rings: Ring[], side: number): number {
  let inside = 0;
  const fine = 200;
  for (let i = 0; i < fine; i++)
    for (let j = 0; j < fine; j++) {
      const [x, y] = [((i + 0.5) * side) / fine, ((j + 0.5) * side) / fine];
      let odd = false;
      for (const ring of rings)
        ring.forEach(([ax, ay], at) => {
          const [bx, by] = ring[(at + 1) % ring.length];
          if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) odd = !odd;
        });
      inside += Number(odd);
    }
  return inside / fine / fine;
}

describe("cells", () => {
  it("have four shapes that cover different parts of the square and stay within it", () => {
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
  it("are plain squares where nobody could tell more", () => {
    expect(cellShape(3, 2)).toEqual(cellShape(3, 0));
    expect(cellShape(5, 2)).not.toEqual(cellShape(5, 0));
  });
  it("become paths at their place", () => expect(pathOf(cellShape(2, 0), 10, 20)).toBe("M10 20L12 20L12 22L10 22Z"));
});

describe("dots", () => {
  it("at one place are one, as dark as together", () => {
    const found = dotsOf([{ value: 0 }, { value: 0.1 }, { value: 5 }], (value) => value);
    expect(found.map((one) => one.at)).toEqual([0, 5]);
    expect(found[0].opacity).toBeCloseTo(1 - 0.55 ** 2, 3);
    expect(found[1].opacity).toBeCloseTo(0.45, 3);
  });
});
