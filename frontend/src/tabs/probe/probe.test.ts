import { expect, it } from "vitest";
import type { MeasureCard, RoleCard } from "../../lib/api";
import { layoutArcs, levelsOf } from "./arcs";
import { axisOf, layerMeans, rangeOf, rankedMeans, rowsOf } from "./measures";
import { fitPoints, nearest } from "./points";
import { ends, largest, marks, marksOf, place, ranked, shownRole } from "./roles";
import { shownColumns } from "./rows";
import { fieldsOf, formatConditions, grouped, parseConditions } from "./search";

it("draws an arc above those that it covers or crosses, whatever their direction", () => {
  expect(levelsOf([{ from: 5, to: 0 }])).toEqual([1]);
  expect(
    levelsOf([
      { from: 5, to: 0 },
      { from: 5, to: 3 },
      { from: 7, to: 6 },
    ]),
  ).toEqual([2, 1, 1]);
  expect(
    levelsOf([
      { from: 3, to: 1 },
      { from: 3, to: 5 },
    ]),
  ).toEqual([1, 1]); // they meet at a word only
});

it("places words side by side, none over another, and leaves room for the highest arc", () => {
  const widths = [20, 60, 10];
  const { centers, width, tops, height } = layoutArcs(widths, [{ from: 2, to: 0 }]);
  for (let i = 1; i < 3; i++) expect(centers[i] - widths[i] / 2).toBeGreaterThan(centers[i - 1] + widths[i - 1] / 2);
  expect(width).toBeGreaterThan(centers[2] + 5);
  expect(Math.max(...tops)).toBeLessThanOrEqual(height);
});

const measure = {
  name: "x",
  share: true,
  mean: [
    [0.2, 0.4],
    [0.9, null],
  ],
  low: [
    [0.1, 0.3],
    [0.8, null],
  ],
  high: [
    [0.3, 0.5],
    [1, null],
  ],
} as unknown as MeasureCard;

it("averages the heads of a layer that exist", () => {
  const [first, second] = layerMeans(measure);
  expect(first.mean).toBeCloseTo(0.3);
  expect(second).toEqual({ layer: 1, mean: 0.9, low: 0.9, high: 0.9 });
  expect(rowsOf(measure)).toHaveLength(3);
});

it("starts the scale of shares at 0, and gives equal values a range", () => {
  expect(rangeOf(measure)).toEqual([0, 0.9]);
  expect(rangeOf({ ...measure, share: false })).toEqual([0.2, 0.9]);
  expect(rangeOf({ ...measure, share: false, mean: [[2, 2]] })).toEqual([2, 3]);
  expect(rangeOf({ ...measure, mean: [[null]] })).toEqual([0, 1]);
});

it("keeps the shape of points and their distance from the edge", () => {
  const points = fitPoints(
    [
      { x: 0, y: 0 },
      { x: 2, y: 0 },
      { x: 0, y: 1 },
    ],
    100,
    10,
  );
  expect(points).toEqual([
    { x: 10, y: 70 },
    { x: 90, y: 70 },
    { x: 10, y: 30 },
  ]);
  expect(fitPoints([{ x: 5, y: 5 }], 100, 10)).toEqual([{ x: 50, y: 50 }]);
});

it("finds the nearest rows, without the row itself and without unknown ones", () => {
  const matrix = [
    [0, 3, 1, null],
    [3, 0, 2, 5],
  ];
  expect(nearest(matrix, 0, 2)).toEqual([2, 1]);
  expect(nearest([], 0, 2)).toEqual([]);
});

it("keeps conditions in the address, whatever characters they have", () => {
  const conditions = [
    { name: "token", value: "a=b;c" },
    { name: "upos", value: "VERB" },
    { name: "upos", value: "AUX" },
  ];
  expect(parseConditions(formatConditions(conditions))).toEqual(conditions);
  expect(grouped([...conditions, { name: "kind", value: " " }])).toEqual({ token: ["a=b;c"], upos: ["VERB", "AUX"] });
  expect(parseConditions(undefined)).toEqual([]);
  expect(parseConditions("upos;=x;kind=")).toEqual([]);
});

it("asks for relations of a target in a treebank only", () => {
  const names = { kinds: ["number"], positions: ["first"], columns: {} };
  const treebank = { ...names, columns: { deprel: ["obj"] } };
  const listed = (of: typeof names, target: boolean) => fieldsOf(of, target).map(({ name }) => name);
  expect(listed(names, true)).toEqual(["token", "kind", "position", "offset"]);
  expect(listed(treebank, false)).not.toContain("relation");
  expect(listed(treebank, true)).toContain("direction");
});

const role = (key: string, effect: (number | null)[][], marked: boolean[][]): RoleCard => ({
  key,
  title: key,
  keys: "",
  on: "",
  texts: 24,
  having: 3,
  value: effect.map((row) => row.map((value) => (value === null ? null : value + 0.1))),
  low: effect,
  high: effect.map((row) => row.map(() => null)),
  reference: effect.map((row) => row.map(() => 0.1)),
  effect,
  q: effect.map((row) => row.map(() => null)),
  marked,
});
const few = role("previous.texts", [[0.02, -0.04, null]], [[false, false, false]]);
const many = role("induction.repeated", [[0.3, 0.1, 0.81]], [[true, false, true]]);

it("ranks the heads for which a role is defined, the strongest first", () => {
  expect(ranked(many).map(({ head }) => head)).toEqual([2, 0, 1]);
  expect(ranked(few).map(({ head, effect }) => [head, effect])).toEqual([
    [0, 0.02],
    [1, -0.04],
  ]);
  expect(marks(many)).toBe(2);
  expect([marksOf(many), marksOf({ ...many, having: 2 })]).toEqual(["2 of 3 heads", "2 heads"]);
});

it("has one scale for all roles, on which no effect is the middle", () => {
  const most = largest([few, many]);
  expect(most).toBe(0.81);
  expect([0, most, -most, most / 4].map((effect) => place(effect, most))).toEqual([0.5, 1, 0, 0.75]);
  expect(largest([role("", [[null]], [[false]])])).toBe(0.01);
});

it("shows the role that was asked for, else the first that a head has", () => {
  expect(shownRole([few, many], "previous.texts")).toBe(few);
  expect(shownRole([few, many], undefined)).toBe(many);
  expect(shownRole([few], "gone")).toBe(few);
  expect(shownRole([], undefined)).toBeUndefined();
});

it("has an axis for all values, their intervals and what they are compared with", () => {
  expect(ends(ranked(many))).toEqual([0, 1]);
  expect(ends(ranked(few))).toEqual([-0.1, 0.2]);
  expect(ends([])).toEqual([0, 0.1]);
});

it("orders heads by a measure, and leaves room for intervals", () => {
  expect(rankedMeans(measure).map(({ layer, head }) => [layer, head])).toEqual([
    [1, 0],
    [0, 1],
    [0, 0],
  ]);
  expect(axisOf(measure)).toEqual([0, 1]);
});

const columnsOf = (...names: string[]) => names.map((name) => ({ name, numeric: !name.startsWith("kind") }));

it("shows a head in one column, and an interval beside its value", () => {
  const columns = shownColumns(
    columnsOf("kind", "layer_a", "head_a", "focus", "focus_gain", "focus_low", "focus_high", "texts"),
  );
  expect(columns.map(({ key }) => key)).toEqual(["kind", "head_a", "focus", "focus_gain", "texts"]);
  const row = ["key", 16, 0, 0.5, 0.25, 0.2, 0.3, 1204];
  const texts = columns.map(({ text }) => text(row).replaceAll("\u00a0", " "));
  expect(texts).toEqual(["key", "L16·H0", "0.50", "0.25 [0.20, 0.30]", "1,204"]);
  expect(columns[3].value(row)).toBe(0.25);
});

it("knows whose interval low and high are, and says where there is none", () => {
  const columns = shownColumns(columnsOf("layer", "head", "other_layer", "other_head", "score", "low", "high"));
  expect(columns.map(({ label }) => label)).toEqual(["Head", "Other head", "Score"]);
  const texts = columns.map(({ text }) => text([0, 2, null, null, 1.5, null, null]));
  expect(texts).toEqual(["L0·H2", "–", "1.5"]);
  expect(shownColumns(columnsOf("low", "layers")).map(({ key }) => key)).toEqual(["low", "layers"]);
});
