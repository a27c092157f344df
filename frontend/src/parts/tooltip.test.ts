import { expect, it, vi } from "vitest";
import { beside } from "../lib/tooltip.svelte";

vi.stubGlobal("$state", { raw: <T>(value: T) => value });

it("a tooltip is beside the pointer and never outside of the window", () => {
  expect(beside(100, 200, 1000)).toBe(116);
  expect(beside(900, 200, 1000)).toBe(688); // on the other side
  for (const pointer of [0, 3, 150, 300, 500, 799, 800])
    for (const extent of [0, 50, 300, 600, 792]) {
      const start = beside(pointer, extent, 800);
      expect(start).toBeGreaterThanOrEqual(4);
      expect(start + extent).toBeLessThanOrEqual(796);
    }
});
