import { expect, it } from "vitest";
import { placeTour, type Box } from "./tour";

const view = { width: 1280, height: 800 };
const dialog = { width: 336, height: 200 };
const box = (left: number, top: number, right: number, bottom: number): Box => ({ left, top, right, bottom });
const apart = (a: Box, b: Box) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

it("the tour covers nothing of what it describes, where there is room beside it", () => {
  for (const about of [
    box(0, 97, 900, 734), // the main view
    box(901, 454, 1280, 734), // the lower part of the sidebar
    box(901, 97, 1280, 454), // its upper part
    box(0, 97, 1280, 300), // a band
  ]) {
    const placed = placeTour(dialog, view, about, 110);
    expect(apart(placed, about)).toBe(true);
    expect(placed.left >= 0 && placed.top >= 0 && placed.right <= view.width && placed.bottom <= view.height).toBe(
      true,
    );
  }
});

it("the tour is at the lower right if nothing speaks against it", () => {
  expect(placeTour(dialog, view, null, 110)).toEqual(box(924, 536, 1260, 736));
});
