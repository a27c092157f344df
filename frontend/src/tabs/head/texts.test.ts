import { describe, expect, it, vi } from "vitest";
import type { AtlasCard, ColumnCard, Computed, Examples } from "../../lib/api";
import { columnOf, columnsOf } from "../../lib/columns";
import { TOP, UNKNOWN } from "../../lib/encoding";
import { meanOf } from "../../lib/estimate";
import { nextSorting } from "../../lib/table";
import { differenceSentence, fewForInterval, NBSP, sizeText } from "../../lib/wording";
import { comparedParts, partsOf, splits } from "./parts";
import { chosenMeasures, measures, valuesOf, withMeasure } from "./texts";

vi.mock("../../lib/route.svelte", () => ({ route: { params: {} } })); // it reads the address of a browser

const examples = {
  n_tokens: [5, 9, 7, 6, 12, 8, 11, 10],
  n_target: [0, 0, 0, 0, 0, 0, 0, 0],
  columns: { topic: ["sea", "hill", "sea", null, "hill", "sea", "moor", "sea"] },
} as unknown as Examples;
const computed: Computed = {
  columns: [
    {
      name: "quotation",
      label: "quotation marks",
      definition: "whether the text has a quotation mark",
      values: ["false", "true", "false", "false", "true", "false", "false", "false"],
    },
    { name: "script", label: "the script", definition: "script", values: new Array(8).fill("Latin") },
  ],
  group: [0, 1, 2, 3, 4, 5, 6, 7],
  group_column: null,
};

describe("parts of the texts", () => {
  const columns = columnsOf(examples, computed);
  const [tokens, topic, quotation] = columns;
  it("come from the dataset and from the texts, without columns of one value", () => {
    expect(columns.map(({ name }) => name)).toEqual(["n_tokens", "topic", "quotation"]);
    expect(columns.every(splits)).toBe(true);
    const title = columnOf("title", "title", [...new Array(60).keys()].map(String)); // free text
    expect(splits(title)).toBe(false);
  });
  it("are named so that a sentence can say which texts they hold", () => {
    const parts = partsOf(quotation);
    expect(parts.map(({ label, texts }) => [label, [...texts]])).toEqual([
      ["with quotation marks", [1, 4]],
      ["without quotation marks", [0, 2, 3, 5, 6, 7]],
    ]);
    expect(partsOf(topic).map(({ phrase, texts }) => [phrase, texts.length])).toEqual([
      ["with topic = sea", 4],
      ["with topic = hill", 2],
      ["with topic = moor", 1],
    ]);
  });
  it("are ranges of numbers of about equal size", () => {
    const parts = partsOf(tokens);
    expect(parts.map(({ label, texts }) => [label, texts.length])).toEqual([
      ["5 – 6", 2],
      ["7 – 8", 2],
      ["9 – 10", 2],
      ["11 – 12", 2],
    ]);
    expect(partsOf(columnOf("year", "year", [2, 1, 2])).map(({ key }) => key)).toEqual(["1", "2"]);
  });
  it("are compared as the address says, else the first two, or the highest range with the lowest", () => {
    const keys = (...given: [string?, string?]) =>
      comparedParts(topic, partsOf(topic), ...(given as [string, string]))?.map(({ key }) => key);
    expect(keys()).toEqual(["sea", "hill"]);
    expect(keys("moor", "sea")).toEqual(["moor", "sea"]);
    expect(keys(undefined, "sea")).toEqual(["hill", "sea"]);
    expect(keys("sea", "sea")).toBeUndefined();
    expect(comparedParts(tokens, partsOf(tokens), undefined, undefined)?.map(({ key }) => key)).toEqual(["4", "1"]);
  });
});

describe("statistics of the table", () => {
  const card = (name: string, group = "statistics", kind = "number") =>
    ({ name, slug: name.replace(/\W/g, "_"), group, kind, low: 0, high: 2 }) as ColumnCard;
  const cards = [card("stat.a"), card("stat.b"), card("distance.tree", "clusters"), card("distance.old", "clusters")];
  const offered = measures({ columns: [...cards, card("cluster.tree", "clusters", "category")] } as AtlasCard, "tree");
  it("are those of maps, and of the current clustering", () =>
    expect(offered.map(({ name }) => name)).toEqual(["stat.a", "stat.b", "distance.tree"]));
  it("are in the address; without one the most unusual are shown", () => {
    expect(chosenMeasures(offered, undefined, ["stat.b"])).toEqual([cards[1]]);
    expect(chosenMeasures(offered, "distance_tree,gone,stat_a,stat_a", ["stat.b"])).toEqual([cards[2], cards[0]]);
    expect(withMeasure([cards[0]], cards[1])).toBe("stat_a,stat_b");
    expect(withMeasure([cards[0], cards[1]], cards[0])).toBe("stat_b");
    expect(withMeasure([cards[0]], cards[0])).toBe("stat_a"); // one stays
  });
  it("have the values of one head", () => {
    const column = Uint16Array.from([0, TOP, 7, UNKNOWN, 7, TOP / 2]); // 3 texts, 2 heads
    expect([...valuesOf(column, cards[0], 2, 1)]).toEqual([2, NaN, 1]);
  });
  it("are sorted largest first, then smallest first, then not at all", () => {
    const column = { key: "stat_a", label: "a", numeric: true, value: () => 0 };
    expect(nextSorting(column, { key: undefined, down: false })).toEqual({ sort: "stat_a", order: "down" });
    expect(nextSorting(column, { key: "stat_a", down: true })).toEqual({ sort: "stat_a", order: "up" });
    expect(nextSorting(column, { key: "stat_a", down: false })).toEqual({ sort: null, order: null });
  });
});

describe("sentences about two parts", () => {
  const plain = (text: string) => text.replaceAll(NBSP, " ");
  const part = (phrase: string, value: number, n: number) => {
    const values = Array.from({ length: n }, (_, i) => value + (i % 2 ? 0.01 : -0.01));
    const texts = values.map((_, i) => i);
    return { phrase, mean: meanOf(values, texts, null) };
  };
  const [first, second] = [part("with digits", 0.5, 40), part("without digits", 0.4, 60)];
  it("say by how much one is higher or lower", () => {
    expect(plain(differenceSentence("text", first, second, { value: 0.1, low: 0.095, high: 0.105 }))).toBe(
      "0.100 [0.095, 0.105] higher on texts with digits than without digits.",
    );
    expect(plain(differenceSentence("text", second, first, { value: -0.1, low: -0.15, high: -0.05 }))).toBe(
      "0.10 [0.05, 0.15] lower on texts without digits than with digits.",
    );
  });
  it("say if it may be chance, or if there are too few texts", () => {
    expect(plain(differenceSentence("text", first, second, { value: 0.1, low: -0.1, high: 0.3 }))).toBe(
      "No clear difference between texts with digits and without digits: +0.10 [−0.10, +0.30] includes 0.",
    );
    const few = { value: 0.1, low: null, high: null };
    expect(plain(differenceSentence("image", part("with x", 0.5, 12), second, few))).toBe(
      "0.10 higher on images with x than without digits: too few texts for an interval (12, 20 are needed).",
    );
    expect(fewForInterval(second.mean)).toBe("");
  });
  it("count sources where texts share them", () =>
    expect(plain(sizeText(meanOf([1, 2, 3], [0, 1, 2], [0, 0, 1])))).toBe("n = 3 of 2 sources"));
});
