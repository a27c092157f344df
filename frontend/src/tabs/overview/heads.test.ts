import { describe, expect, it } from "vitest";
import { MISSING, NOISE } from "../../lib/encoding";
import type { AtlasCard, ClusterRow } from "../../lib/api";
import { extremesSentence } from "../../lib/wording";
import { colorOptions, coloringOf, extremes, orderOf, sortOptions } from "./coloring";
import { countHeads } from "../../lib/counts";
import { asCsv } from "../../lib/csv";
import { joined, mixesFromCounts, mixesOf, shareOf } from "./heads";
import { headTable } from "./table";

const row = (layer: number, head: number, ...mean: (number | null)[]) => ({
  layer,
  head,
  kind: "encoder",
  mean,
  deviation: mean.map(() => 0.1),
});
const rows = [row(0, 0, 0.1, -3, null), row(0, 1, 0.2, 5, null), row(1, 0, 0.9, 1, 2)];
const atlas = { statistics: ["a", "b", "c"].map((name) => ({ name, plain: `plain ${name}`, unit: "u" })) } as AtlasCard;

describe("the headline", () => {
  const heads = joined(rows as never, null, 2);
  it("names the heads at both ends of what heads are sorted or colored by", () => {
    const found = extremes("stat:b", atlas, heads)!;
    expect(extremesSentence("Sorted", found, false)).toBe(
      "Sorted by plain b: L0·H1 is highest (5.0), L0·H0 lowest (−3.0); the mean of all heads is 1.",
    );
    expect(extremesSentence("Colored", found, true)).toContain("L0·H0 is lowest (−3.0), L0·H1 highest (5.0)");
  });
  it("leaves out heads without a value, and says nothing about what is no number", () => {
    expect(extremesSentence("Sorted", extremes("stat:c", atlas, heads)!, false)).toBe(
      "Sorted by plain c: all heads have 2.0.",
    );
    expect(extremes("cluster", atlas, heads)).toBeNull();
  });
});

describe("mixes", () => {
  it("counts labels per head, including noise but not missing maps", () => {
    // two examples of two layers and two heads; the last head does not exist
    const labels = Uint16Array.from([3, NOISE, 1, MISSING, 3, 1, 3, MISSING]);
    const counts = countHeads(labels, 4, [3, 1, -1]);
    const mixes = mixesFromCounts(counts, [3, 1, -1], 0.75);
    expect(mixes.get(0)).toMatchObject({ main: 3, mainShare: 1, entropy: 0, oneJob: true });
    expect(mixes.get(1)!.parts).toEqual([
      { cluster: -1, share: 0.5 },
      { cluster: 1, share: 0.5 },
    ]);
    expect(mixes.get(2)!.entropy).toBeCloseTo(Math.log(2));
    expect(mixes.has(3)).toBe(false);
    expect(mixes.get(2)!.oneJob).toBe(false);
    expect(mixesFromCounts(counts, [3, 1, -1], 0.5).get(2)!.oneJob).toBe(true); // the threshold comes with the result
  });
  it("orders the table's shares and drops empty ones", () => {
    const heads = [
      {
        layer: 1,
        head: 0,
        name: "x",
        main_cluster: 2,
        main_share: 0.7,
        entropy: 0.6,
        one_job: false,
        shares: [0, 0.3, 0.7],
        related: [],
      },
    ];
    const mix = mixesOf({ clusters: [0, 1, 2], head_distance: null, heads }, 2).get(2)!;
    expect(mix.parts).toEqual([
      { cluster: 2, share: 0.7 },
      { cluster: 1, share: 0.3 },
    ]);
    expect(shareOf(mix, 1)).toBe(0.3);
    expect(shareOf(mix, 0)).toBe(0);
    expect(shareOf(null, 0)).toBe(0);
  });
});

describe("colors and order", () => {
  const heads = joined(rows, null, 2);
  it("centers a statistic of both signs at zero", () => {
    expect(coloringOf("stat:b", atlas, heads)).toMatchObject({
      kind: "amount",
      low: -5,
      high: 5,
      scale: "differences",
    });
    expect(coloringOf("stat:a", atlas, heads)).toMatchObject({ low: 0.1, high: 0.9, scale: "amounts" });
  });
  it("colors by how much heads change with a column, at least 0", () => {
    const explained = [
      { layer: 0, head: 0, explained: -0.02 },
      { layer: 1, head: 0, explained: 0.7 },
    ];
    const columns = [
      { column: "kind", label: "kind", filters: true, switches: [], changed: [], contrast: null, explained, same: [] },
    ];
    const changing = joined(rows, null, 2, columns);
    expect(coloringOf("change:kind", atlas, changing)).toMatchObject({ low: 0, high: 0.7, scale: "amounts" });
    expect(coloringOf("change:kind", atlas, heads)).toEqual({ kind: "none" });
    const options = colorOptions(atlas, changing, true, columns).map(({ value }) => value);
    expect(options).toContain("change:kind");
    expect(sortOptions(atlas, changing, true, columns).map(({ value }) => value)).toContain("change:kind");
    expect(orderOf("change:kind", false, atlas, changing, [])?.[0]).toBe(
      rows.findIndex((row) => row.layer === 1 && row.head === 0),
    );
  });
  it("treats an unknown name as none", () => {
    for (const name of ["stat:zzz", "constructor", ""])
      expect(coloringOf(name, atlas, heads)).toEqual({ kind: "none" });
    expect(orderOf("zzz", false, atlas, heads, [])).toBeNull();
  });
  it("ranks the largest first, unknown values last both ways", () => {
    expect(orderOf("stat:b", false, atlas, heads, [])).toEqual([1, 2, 0]);
    expect(orderOf("stat:b", true, atlas, heads, [])).toEqual([0, 2, 1]);
    expect(orderOf("stat:c", false, atlas, heads, [])).toEqual([2, 0, 1]);
    expect(orderOf("stat:c", true, atlas, heads, [])).toEqual([2, 0, 1]);
  });
  it("ranks by the size of the main cluster, then by its share", () => {
    const labels = Uint16Array.from([7, 4, 7, MISSING, 7, 4, 4, MISSING, 7, 4, 7, MISSING]);
    const mixed = joined(rows, mixesFromCounts(countHeads(labels, 4, [4, 7]), [4, 7], 0.75), 2);
    expect(orderOf("cluster", false, atlas, mixed, [4, 7])).toEqual([1, 0, 2]);
    expect(orderOf("cluster", true, atlas, mixed, [4, 7])).toEqual([0, 2, 1]);
  });
});

it("the table of heads has one row per head, with the shares of all patterns and every mean, and their units", () => {
  const labels = Uint16Array.from([3, 1, 1, 3, 3, 1]);
  const mixes = mixesFromCounts(countHeads(labels, 3, [3, 1]), [3, 1], 0.75);
  const clusters = [
    { cluster: 3, name: "previous token" },
    { cluster: 1, name: "first, and more" },
  ] as ClusterRow[];
  const lines = asCsv(headTable(atlas, joined(rows, mixes, 2), clusters)).split("\r\n");
  expect(lines[0]).toBe(
    'layer,head,kind,main_cluster,name,main_share [share of maps],entropy [nats],one_job,share:3 previous token [share of maps],"share:1 first, and more [share of maps]",mean:a [u],deviation:a [u],mean:b [u],deviation:b [u],mean:c [u],deviation:c [u]',
  );
  expect(lines).toHaveLength(rows.length + 2);
  expect(lines[1]).toBe("0,0,encoder,3,previous token,1,0,true,1,0,0.1,0.1,-3,0.1,,0.1");
});
