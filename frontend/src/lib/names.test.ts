import { afterEach, describe, expect, it } from "vitest";
import type { components } from "../generated/schema";
import { namedClusters, namedFindings, namedProfiles, namedTree, names } from "./names.svelte";
import { headName } from "./wording";

type Schemas = components["schemas"];
const empty = names.notes;
afterEach(() => {
  names.notes = empty;
});
const pattern = (number: number, name: string, current = true) => ({
  clustering: "tree",
  key: "0a1b2c3d",
  pattern: number,
  name,
  note: "",
  current,
});
const clusters = {
  clustering: "tree",
  sentence: "90 maps fall into 2 patterns; the largest, “previous token”, holds 60%.",
  clusters: [
    { cluster: 0, name: "previous token", maps: 60 },
    { cluster: 1, name: "first token", maps: 30 },
  ],
} as unknown as Schemas["Clusters"];

describe("names that a person gave", () => {
  it("take the place of automatic ones, which stay beside them, and are in the sentence", () => {
    names.notes = { ...empty, patterns: [pattern(0, "looks back")] };
    const named = namedClusters(clusters);
    expect(named.clusters[0]).toMatchObject({ name: "looks back", automatic: "previous token" });
    expect(named.clusters[1]).toBe(clusters.clusters[1]);
    expect(named.sentence).toBe("90 maps fall into 2 patterns; the largest, “looks back”, holds 60%.");
  });
  it("of an earlier clustering, and of others, name nothing", () => {
    names.notes = { ...empty, patterns: [pattern(0, "old", false), { ...pattern(0, "other"), clustering: "kmeans" }] };
    expect(namedClusters(clusters).clusters).toEqual(clusters.clusters);
  });
  it("of a node change the sentences only of the levels at which it is the largest", () => {
    const node = (number: number, cluster: number | null, maps: number, coarsest: number, finest: number) => ({
      node: number,
      cluster,
      name: "same name",
      maps,
      coarsest,
      finest,
    });
    const tree = {
      clustering: "tree",
      nodes: [node(0, null, 90, 1, 1), node(1, 0, 60, 2, 2), node(2, 1, 30, 2, 2)],
      sentences: ["all in “same name”", "the largest is “same name”"],
    } as unknown as Schemas["Tree"];
    names.notes = { ...empty, patterns: [pattern(1000, "everything")] };
    expect(namedTree(tree).sentences).toEqual(["all in “everything”", "the largest is “same name”"]);
    expect(namedTree(tree).nodes.map(({ name }) => name)).toEqual(["everything", "same name", "same name"]);
  });
  it("are those of the patterns to which heads switch", () => {
    names.notes = { ...empty, patterns: [pattern(1, "sink")] };
    const switches = [0, 1].map((cluster) => ({ cluster, pattern: "automatic" }));
    const findings = { clustering: "tree", columns: [{ switches }] } as unknown as Schemas["Findings"];
    expect(namedFindings(findings).columns[0].switches.map((entry) => entry.pattern)).toEqual(["automatic", "sink"]);
  });
  it("are those of the main patterns of heads, and of heads", () => {
    const heads = [
      { main_cluster: 1, name: "first token" },
      { main_cluster: null, name: "no maps" },
    ];
    names.notes = {
      ...empty,
      patterns: [pattern(1, "sink")],
      heads: [{ layer: 3, head: 10, name: "mover", note: "" }],
    };
    const named = namedProfiles({ heads } as unknown as Schemas["Profiles"], "tree");
    expect(named.heads.map(({ name }) => name)).toEqual(["sink", "no maps"]);
    expect([headName({ layer: 3, head: 10 }), headName({ layer: 3, head: 1 })]).toEqual(["L3·H10 (mover)", "L3·H1"]);
  });
});
