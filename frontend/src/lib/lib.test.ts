import { expect, test } from "vitest";
import { asCsv } from "./export";
import { CATEGORIES, categoryColor, categoryMark, ramp, textColorOn, scaleColor } from "./palette";
import { matches } from "./search";
import { commandsFor } from "./stages";
import { amount, interval, joinList, plural, percent, pValue } from "./format";

test("percentages are 0 and 100 only if they are exact", () => {
  expect(percent(0.9996)).toContain(">");
  expect(percent(0.0002)).toContain("<");
  expect(percent(1).replace(/\s/g, "")).toBe("100%");
  expect(percent(0)).toMatch(/^0/);
  expect(percent(null)).toBe("–");
});

test("numbers have few digits", () => {
  expect([0.934, -39.87, 0.0031, 1234.5, 0, 3.14159].map(amount)).toEqual([
    "0.93",
    "−40",
    "0.003",
    "1,235",
    "0",
    "3.1",
  ]);
  expect(amount(0.00007)).toContain("<");
  expect(interval(0.5, 0.4, 0.6)).toBe("0.50 [0.40, 0.60]");
  expect(interval(0.5, null, null)).toBe("0.50");
  expect(pValue(1e-9)).toContain("0.001");
  expect(plural(1, "map")).toBe("1 map");
  expect(plural(1204, "map")).toBe("1,204 maps");
  expect(joinList(["a", "b", "c"])).toBe("a, b and c");
});

test("tables are written as CSV with quoting", () => {
  const csv = asCsv({
    columns: ["id", "text"],
    rows: [
      ["a", 'he said "no", twice'],
      [1, null],
      ["line\nbreak", 2.5],
    ],
  });
  expect(csv).toBe('id,text\r\na,"he said ""no"", twice"\r\n1,\r\n"line\nbreak",2.5\r\n');
});

test("examples are found by id first, then by text, each once", () => {
  expect(matches("Tide", ["a", "tides-1", "b"], ["the tide", "tides", "none"])).toEqual([1, 0]);
  expect(matches("t", ["t", "t", "t"], ["", "", ""], 2)).toEqual([0, 1]);
  expect(matches("  ", ["a"], ["a"])).toEqual([]);
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
