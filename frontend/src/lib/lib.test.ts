import { expect, test } from "vitest";
import { asCsv } from "./csv";
import { CATEGORIES, categoryColor, categoryMark, ramp, textColorOn, scaleColor } from "./palette";
import { fold, matches } from "./search";
import { commandsFor } from "./stages";

test("tables are written as CSV with quoting", () => {
  const csv = asCsv({
    columns: ["id", "text"],
    rows: [
      ["a", 'he said "no", twice'],
      [1, null],
      ["line\nbreak", 2.5],
      [[0, 1], [{ layer: 0 }]],
    ],
  });
  expect(csv).toBe('id,text\r\na,"he said ""no"", twice"\r\n1,\r\n"line\nbreak",2.5\r\n"[0,1]","[{""layer"":0}]"\r\n');
});

test("units are in the header of a CSV, but not for columns of a dataset", () => {
  const rows = [[0.5, 12]];
  expect(asCsv({ columns: ["share", "n_tokens"], rows })).toBe("share [share of maps],n_tokens [tokens]\r\n0.5,12\r\n");
  expect(asCsv({ columns: ["share", "age"], rows, units: { age: "years" } })).toBe("share,age [years]\r\n0.5,12\r\n");
});

test("examples are found by id first, then by text, each once", () => {
  expect(matches("Tide", ["a", "tides-1", "b"], ["the tide", "tides", "none"])).toEqual([1, 0]);
  expect(matches("t", ["t", "t", "t"], ["", "", ""], 2)).toEqual([0, 1]);
  expect(matches("  ", ["a"], ["a"])).toEqual([]);
});

test("searches ignore case, accents and the kind of quotation marks and apostrophes", () => {
  const texts = ["I don’t know.", "He said «non».", "“Über” the cafe\u0301", "don't", "ดี ดู"];
  const found = (query: string) => matches(query, [], texts);
  expect(found("don't")).toEqual([0, 3]);
  expect(found("DON‘T")).toEqual([0, 3]);
  expect(found('"non"')).toEqual([1]);
  expect(found("uber")).toEqual([2]);
  expect(found("CAFÉ")).toEqual([2]);
  expect(found("ดู")).toEqual([4]);
  expect(found("ด")).toEqual([4]);
  expect(fold("ดี")).not.toBe(fold("ดู")); // vowel signs are no accents
});

test("colors of categories repeat after ten, with another mark", () => {
  expect(categoryColor(3, "light")).toBe(CATEGORIES[3]);
  expect(categoryColor(13, "dark")).toBe(CATEGORIES[3]);
  expect([3, 13, 23, 33, 43].map(categoryMark)).toEqual([0, 1, 2, 3, 3]);
  expect(categoryColor(-1, "light")).not.toBe(categoryColor(9, "light"));
});

test("color scales run from the first stop to the last, and text on them is readable", () => {
  for (const theme of ["light", "dark"] as const) {
    const colors = ramp("amounts", theme);
    expect(colors.length).toBe(768);
    expect(scaleColor("amounts", theme, 0)).not.toBe(scaleColor("amounts", theme, 1));
    expect(textColorOn("amounts", theme, 0)).not.toBe(textColorOn("amounts", theme, 1));
  }
});

test("missing commands are in the order in which they have to be run", () => {
  const stage = (name: string, done: boolean) => ({
    stage: name,
    done,
    command: `headatlas ${name} x.atlas`,
    results: [],
  });
  const atlas = {
    stages: ["features", "cluster", "project", "correlate"].map((name) => stage(name, name === "features")),
  };
  expect(commandsFor(atlas, "correlate")).toBe("headatlas cluster x.atlas && headatlas correlate x.atlas");
  expect(commandsFor(atlas, "project")).toBe("headatlas project x.atlas");
});
