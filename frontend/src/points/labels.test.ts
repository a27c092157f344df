import { expect, it } from "vitest";
import { WHOLE } from "./camera";
import { LINE_HEIGHT, placeLabels, MAX_WIDTH, type Label } from "./labels";
import { random } from "./fixtures";

const size = { width: 800, height: 600 };
const width = (text: string) => 8 * text.length;
const label = (x: number, y: number, text: string): Label => ({ x, y, text, color: "#000000" });

it("names never lie over one another nor outside, and the first have the right of way", () => {
  const next = random(2);
  const labels = Array.from({ length: 150 }, (_, i) => label(next() * 65_534, next() * 65_534, `cluster ${i}`));
  const found = placeLabels(labels, WHOLE, size, width);
  expect(found.length).toBeGreaterThan(40);
  expect(found[0].text).toBe("cluster 0");
  found.forEach((one, at) => {
    expect(one.left - one.width / 2).toBeGreaterThanOrEqual(0);
    expect(one.left + one.width / 2).toBeLessThanOrEqual(size.width);
    for (const other of found.slice(at + 1)) {
      const apart =
        Math.abs(one.left - other.left) >= (one.width + other.width) / 2 ||
        Math.abs(one.top - other.top) >= LINE_HEIGHT;
      expect(apart).toBe(true);
    }
  });
});

it("a long name is no wider than allowed, one out of sight is not written", () => {
  const [long] = placeLabels([label(32_767, 32_767, "x".repeat(10_000))], WHOLE, size, width);
  expect(long.width).toBe(MAX_WIDTH);
  expect(placeLabels([label(0, 0, "far")], [60_000, 60_000, 20], size, width)).toEqual([]);
});

it("two in one place stand one above the other", () => {
  const found = placeLabels([label(9_000, 9_000, "one"), label(9_000, 9_000, "two")], WHOLE, size, width);
  expect(found).toHaveLength(2);
  expect(Math.abs(found[0].top - found[1].top)).toBe(LINE_HEIGHT);
});
