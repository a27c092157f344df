import { expect, it } from "vitest";
import { averageSentence, flowSentence, offsetName, patchOffsetName, readerSentence } from ".";

const place = { layer: 2, head: 9 };

it("says why a query attends to a key", () => {
  const facts = { place, number: 3, modality: "text", query: "it", key: "cat", weight: 0.42, score: 4.31 };
  expect(readerSentence({ ...facts, dimensions: [17, 4, 29] })).toBe(
    "On text 3, “it” attends to “cat” in L2·H9 with 0.42: score 4.3, most of it from dimensions 17, 4, and 29.",
  );
  expect(readerSentence({ ...facts, key: null, score: null, dimensions: [] })).toBe(
    "On text 3, “it” attends to itself in L2·H9 with 0.42.",
  );
  const patches = { modality: "image", query: "patch 0,1", key: "[CLS]", score: null, dimensions: [] };
  expect(readerSentence({ ...facts, ...patches })).toBe("On image 3, patch 0,1 attends to [CLS] in L2·H9 with 0.42.");
});

it("says where patches look", () => {
  const even = { itself: 0.02, beside: 0.1, farther: 0.86, special: 0.02 };
  const facts = { place, number: 5, even, special: ["[CLS]"] };
  const near = { itself: 0.25, beside: 0.4, farther: 0.35, special: 0 };
  expect(flowSentence({ ...facts, shares: near })).toBe(
    "On image 5, patches in L2·H9 give 40% of their attention to patches next to them; even attention would give 10%.",
  );
  const sink = { itself: 0.1, beside: 0, farther: 0.1, special: 0.8 };
  expect(flowSentence({ ...facts, shares: sink })).toContain("give 80% of their attention to [CLS]; ");
  expect(flowSentence({ ...facts, shares: sink, special: ["[CLS]", "[DIST]"] })).toContain("to special tokens; ");
  const alike = { itself: 0.03, beside: 0.12, farther: 0.84, special: 0.01 };
  expect(flowSentence({ ...facts, shares: alike })).toBe(
    "On image 5, patches in L2·H9 look near and far alike: 12% goes to patches next to them; even attention would give 10%.",
  );
  expect(flowSentence({ ...facts, shares: null })).toBe("Of L2·H9 on image 5, only the pooled map is known.");
});

it("names distances", () => {
  expect([-1, 0, 1, -7, 2].map(offsetName)).toEqual([
    "the previous token",
    "the token itself",
    "the next token",
    "the token 7 back",
    "the token 2 ahead",
  ]);
  expect(patchOffsetName(-1, 2)).toBe("the patch 1 row up and 2 columns right");
  expect(patchOffsetName(0, 0)).toBe("the patch itself");
});

it("says what a head attends to on average", () => {
  const best = { name: "the previous token", mean: 0.9312, low: 0.9211, high: 0.9413, even: 0.0143 };
  expect(averageSentence({ place, examples: 140, modality: "text", best })).toBe(
    "On average over 140 texts, L2·H9 attends most to the previous token: 0.931 [0.921, 0.941]; even attention would give 0.014.".replace(
      ", 0.941",
      ",\u00a00.941",
    ),
  );
});
