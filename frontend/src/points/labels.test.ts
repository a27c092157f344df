import { expect, it } from "vitest";
import { TOP } from "../lib/encoding";
import { WHOLE } from "./camera";
import { LINE_HEIGHT, placeLabels, MAX_WIDTH, type Label } from "./labels";
import { random } from "./fixtures";

const size = { width: 800, height: 600 };
const width = (text: string) => 8 * text.length;
const label = (x: number, y: number, text: string): Label => ({ x, y, text, color: "#000000" });

it("labels do not overlap, stay inside, and the first have priority", () => {
  const next = random(2);
  const labels = Array.from({ length: 150 }, (_, i) => label(next() * TOP, next() * TOP, `cluster ${i}`));
  const placed = placeLabels(labels, WHOLE, size, width);
  expect(placed.length).toBeGreaterThan(40);
  expect(placed[0].text).toBe("cluster 0");
  placed.forEach((label, i) => {
    expect(label.left - label.width / 2).toBeGreaterThanOrEqual(0);
    expect(label.left + label.width / 2).toBeLessThanOrEqual(size.width);
    for (const other of placed.slice(i + 1)) {
      const disjoint =
        Math.abs(label.left - other.left) >= (label.width + other.width) / 2 ||
        Math.abs(label.top - other.top) >= LINE_HEIGHT;
      expect(disjoint).toBe(true);
    }
  });
});

it("long labels are cut, labels out of view are left out", () => {
  const [long] = placeLabels([label(32_767, 32_767, "x".repeat(10_000))], WHOLE, size, width);
  expect(long.width).toBe(MAX_WIDTH);
  expect(placeLabels([label(0, 0, "far")], [60_000, 60_000, 20], size, width)).toEqual([]);
});

it("two labels at the same point are stacked", () => {
  const placed = placeLabels([label(9_000, 9_000, "one"), label(9_000, 9_000, "two")], WHOLE, size, width);
  expect(placed).toHaveLength(2);
  expect(Math.abs(placed[0].top - placed[1].top)).toBe(LINE_HEIGHT);
});
