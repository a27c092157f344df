import { expect, it } from "vitest";
import { headNames, homeLine, levelRange, nodeClusters } from ".";

const heads = [0, 1, 2, 3, 4].map((head) => ({ layer: 1, head, share: 0.9 - head / 10 }));

it("says at which numbers of patterns a node is one of them", () => {
  expect([levelRange(1, 1), levelRange(2, 2), levelRange(3, 12)]).toEqual([
    "1 pattern",
    "2 patterns",
    "3 to 12 patterns",
  ]);
});
it("says of what tests and typical maps are", () => {
  expect(nodeClusters(true, 3, 28)).toContain("It holds 3 of the 28 patterns of the default level.");
  expect(nodeClusters(false, 1, 28)).toContain("of the whole pattern, not of this part");
});
it("lists the first heads, and a single remaining one", () => {
  expect(headNames(heads, 2)).toBe("L1·H0, L1·H1, 3 more");
  expect(headNames(heads.slice(0, 3), 2)).toBe("L1·H0, L1·H1, L1·H2");
  expect(headNames([])).toBe("");
});
it("says where a pattern occurs, as far as that is known", () => {
  expect(homeLine({ layers: null, heads: [] }, 0.5)).toBe("");
  expect(homeLine({ layers: null, heads: heads.slice(0, 1) }, 0.5)).toBe("the main pattern of L1·H0");
  expect(homeLine({ layers: [1], heads: [] }, 0.5)).toBe("layer 1; in no particular head");
});
