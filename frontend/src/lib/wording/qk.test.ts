import { expect, it } from "vitest";
import { embeddingName, embeddingSentence, foundSentence, groupingSentence, pointSentence, pointsSentence } from "./qk";

const head = { layer: 3, head: 4 };

it("names plots", () => {
  expect(["tsne", "umap-3d", "pca"].map(embeddingName)).toEqual(["t-SNE", "UMAP, 3-D", "PCA"]);
});

it("says what a head groups by, and how far its plot can be trusted", () => {
  const facts = { head, spearman: -0.912, misplaced: 0.061 };
  const grouping = { column: "position", label: "position", strength: 0.9 };
  expect(groupingSentence({ ...facts, grouping })).toBe(
    "L3·H4 groups queries and keys by position (correlation of distance and product −0.91); 6% of points are misplaced.",
  );
  expect(groupingSentence({ ...facts, grouping: { ...grouping, strength: 0.1 }, misplaced: 0 })).toBe(
    "L3·H4 groups queries and keys by none of the columns (correlation of distance and product −0.91); no point is misplaced.",
  );
  const apart = { column: "role", label: "query or key", strength: 0.8 };
  expect(groupingSentence({ head, grouping: apart, spearman: null, misplaced: null })).toBe(
    "L3·H4 keeps queries and keys apart.",
  );
});

it("says what is drawn, and what was found", () => {
  const counts = { heads: 72, tokens: 4998, examples: 39 };
  expect(embeddingSentence({ ...counts, modality: "text", spearman: -0.55, misplaced: 0.2 })).toBe(
    "72 heads on 4,998 tokens of 39 texts: mean correlation of distance and product −0.55; 20% of points are misplaced.",
  );
  expect(embeddingSentence({ ...counts, modality: "image", spearman: null, misplaced: null })).toContain(
    "4,998 patches of 39 images.",
  );
  const found = { query: "the", part: false, occurrences: 213, found: 38, examples: 39, modality: "text" };
  expect(foundSentence(found)).toBe("“the” occurs 213 times in 38 of 39 texts, lit up in all heads.");
  expect(foundSentence({ ...found, occurrences: 0, part: true })).toBe(
    "“the” as part of a token does not occur among the tokens that are drawn.",
  );
});

it("describes points", () => {
  expect(pointSentence({ head, role: "query", text: "cat", other: "sat", weight: 0.42, modality: "text" })).toBe(
    "The query of “cat” in L3·H4 attends most to “sat” (0.42).",
  );
  expect(pointSentence({ head, role: "key", text: "cat", other: null, weight: null, modality: "text" })).toBe(
    "The key of “cat” in L3·H4.",
  );
  const patch = { text: "4,7", other: "[CLS]", weight: 0.42, modality: "image" };
  expect(pointSentence({ head, role: "query", ...patch })).toBe(
    "The query of patch 4,7 in L3·H4 attends most to [CLS] (0.42).",
  );
  expect(pointsSentence({ head, points: 3, keys: 2 })).toBe("3 points of L3·H4 selected: 1 query and 2 keys.");
});
