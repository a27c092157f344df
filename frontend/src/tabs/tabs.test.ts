import { expect, it } from "vitest";
import type { AtlasCard } from "../lib/api";
import { tabById, TABS } from ".";

const atlas = {
  data: { modality: "text", examples: 3 },
  model: { layers: [{ heads: 2 }, { heads: 4 }] },
} as unknown as AtlasCard;

it("finds tabs by their ids, which are distinct and need no escapes in addresses", () => {
  expect(new Set(TABS.map((tab) => tab.id)).size).toBe(TABS.length);
  for (const tab of TABS) {
    expect(tab.id).toMatch(/^[a-z]+$/);
    expect(tabById(tab.id)).toBe(tab);
  }
});

it("has a tour step for every tab", () => {
  const complete = { ...atlas, stages: [{ stage: "qk", done: true, command: "", results: [] }] };
  for (const tab of TABS) expect(tab.tour(complete).length, tab.id).toBeGreaterThan(0);
  expect(tabById("qk").tour({ ...atlas, stages: [] })).toEqual([]); // nothing is drawn
  expect(TABS[0].tour(atlas)[0].text).toContain("6 heads");
});

it("lists the keys of what is shown", () => {
  const keys = (item: string | null, customText = false) =>
    tabById("examples")
      .keys({ item, customText, atlas })
      .map(({ keys }) => keys);
  expect(keys(null)).toEqual(["Enter"]);
  expect(keys("3")).toContain("← →");
  expect(keys(null, true)).not.toContain("← →");
});
