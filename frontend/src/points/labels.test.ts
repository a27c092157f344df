import { expect, it } from "vitest";
import { TOP, UNPLACED } from "../lib/encoding";
import { toScreen, WHOLE } from "./camera";
import { Density } from "./density";
import { LINE_HEIGHT, placeLabels, MAX_WIDTH, type Label, type PlacedLabel } from "./labels";
import { random } from "./fixtures";

const size = { width: 800, height: 600 };
const width = (text: string) => 8 * text.length;
const label = (x: number, y: number, text: string): Label => ({ x, y, text, number: 0 });
const disjoint = (a: PlacedLabel, b: PlacedLabel) =>
  Math.abs(a.left - b.left) >= (a.width + b.width) / 2 || Math.abs(a.top - b.top) >= LINE_HEIGHT;

/** Points in a few dense spots. */
function spots(count: number): Uint16Array {
  const next = random(5);
  return Uint16Array.from({ length: 2 * count }, (_, k) => {
    const spot = (k >> 1) % 6;
    const center = k % 2 ? 9_000 + 9_000 * spot : 12_000 + 7_000 * ((spot * 5) % 6);
    return center + 4_000 * (next() - 0.5);
  });
}

it("labels do not overlap, stay inside, and the first have priority", () => {
  const next = random(2);
  const labels = Array.from({ length: 150 }, (_, i) => label(next() * TOP, next() * TOP, `cluster ${i}`));
  const placed = placeLabels(labels, WHOLE, size, width);
  expect(placed.length).toBeGreaterThan(100);
  expect(placed[0].text).toBe("cluster 0");
  placed.forEach((label, i) => {
    expect(label.left - label.width / 2).toBeGreaterThanOrEqual(0);
    expect(label.left + label.width / 2).toBeLessThanOrEqual(size.width);
    for (const other of placed.slice(i + 1)) expect(disjoint(label, other)).toBe(true);
  });
});

it("labels cover no points, and a line leads from each to what it names", () => {
  const positions = spots(4_000);
  const labels = Array.from({ length: 6 }, (_, spot) =>
    label(positions[2 * spot], positions[2 * spot + 1], `p${spot}`),
  );
  const placed = placeLabels(labels, WHOLE, size, width, new Density(positions));
  expect(placed).toHaveLength(6);
  for (const { left, top, width, from, to, x, y } of placed) {
    for (let i = 0; i < positions.length; i += 2) {
      const [px, py] = toScreen(WHOLE, size, positions[i], positions[i + 1]);
      expect(Math.abs(px - left) < width / 2 && Math.abs(py - top) < LINE_HEIGHT / 2).toBe(false);
    }
    for (const other of placed)
      for (let step = 0; step <= 50; step++) {
        const [px, py] = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / 50);
        const over = Math.abs(px - other.left) < other.width / 2 - 1 && Math.abs(py - other.top) < LINE_HEIGHT / 2 - 1;
        expect(over).toBe(false); // no line runs through a name
      }
    expect(to).toEqual(toScreen(WHOLE, size, x, y));
    expect(Math.abs(from[0] - left)).toBeLessThanOrEqual(width / 2);
  }
});

it("labels keep clear of controls, and are left out where there is no room", () => {
  const corner = { left: 0, top: 0, right: 400, bottom: 600 };
  const [placed] = placeLabels([label(TOP / 3, TOP / 2, "name")], WHOLE, size, width, null, [corner]);
  expect(placed.left - placed.width / 2).toBeGreaterThanOrEqual(400);
  const full = Uint16Array.from({ length: 2 << 16 }, (_, k) => (k % 2 ? (k >> 9) << 8 : ((k >> 1) & 255) << 8));
  expect(placeLabels([label(TOP / 2, TOP / 2, "x")], [TOP / 2, TOP / 2, 3], size, width, new Density(full))).toEqual(
    [],
  );
});

it("counts points in rectangles, never too few", () => {
  const positions = spots(500);
  positions[0] = UNPLACED;
  const density = new Density(positions);
  expect(density.count(0, 0, TOP, TOP)).toBe(499);
  const next = random(3);
  for (let i = 0; i < 100; i++) {
    const [left, bottom] = [next() * TOP, next() * TOP];
    const [right, top] = [left + 9_000, bottom + 3_000];
    let exact = 0;
    for (let k = 2; k < positions.length; k += 2)
      exact += Number(
        positions[k] >= left && positions[k] <= right && positions[k + 1] >= bottom && positions[k + 1] <= top,
      );
    expect(density.count(left, bottom, right, top)).toBeGreaterThanOrEqual(exact);
    const margin = 128;
    expect(density.count(left + margin, bottom + margin, right - margin, top - margin)).toBeLessThanOrEqual(exact);
  }
  expect(density.count(-900, -900, -10, TOP)).toBe(0);
});

it("long labels are cut, labels out of view are left out", () => {
  const [long] = placeLabels([label(32_767, 32_767, "x".repeat(10_000))], WHOLE, size, width);
  expect(long.width).toBe(MAX_WIDTH);
  expect(placeLabels([label(0, 0, "far")], [60_000, 60_000, 20], size, width)).toEqual([]);
});
