import { expect, it } from "vitest";
import { cellSize, gridColumns } from "./sizes";

it("every token of an ordinary text has a label in exported maps", () => {
  for (const count of [1, 8, 30, 83, 110]) {
    const { cell, font } = cellSize(count, count);
    expect(font + 1).toBeLessThanOrEqual(cell + 1e-9);
    expect(count * cell).toBeLessThanOrEqual(900);
  }
  expect(512 * cellSize(512, 512).cell).toBeLessThanOrEqual(900); // some labels are left out
});

it("maps form a grid that stays narrow enough", () => {
  expect(gridColumns(12, 400)).toBe(4);
  expect(gridColumns(144, 400)).toBe(6);
  expect(gridColumns(1, 9000)).toBe(1);
});
