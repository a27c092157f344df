import { describe, expect, it, vi } from "vitest";
import type { LayerCard } from "../../lib/api";

vi.mock("../../lib/selection.svelte", () => ({
  headKey: (place: { layer: number; head: number }) => `${place.layer}.${place.head}`,
  parseHead: (text: string) => {
    const match = /^(\d+)\.(\d+)$/.exec(text);
    return match ? { layer: Number(match[1]), head: Number(match[2]) } : null;
  },
}));
const { chosenHeads, headsOf, parseHeads, toggle, writeHeads } = await import("./heads");

const layer = (index: number, heads: number, kind: LayerCard["kind"] = "encoder"): LayerCard => ({
  index,
  kind,
  heads,
  key_heads: heads,
  causal: false,
  width: 8,
  scaling: 1,
  note: "",
});
const LAYERS = [layer(0, 2), layer(1, 1, "cross")];

describe("heads", () => {
  it("parses existing heads, sorted and without duplicates", () => {
    expect(parseHeads("1.0, 0.1,0.1,0.7,x,9.9", LAYERS)).toEqual([
      { layer: 0, head: 1 },
      { layer: 1, head: 0 },
    ]);
    expect(parseHeads(undefined, LAYERS)).toBeNull();
    expect(parseHeads("none", LAYERS)).toEqual([]);
    expect(
      writeHeads([
        { layer: 1, head: 0 },
        { layer: 0, head: 1 },
      ]),
    ).toBe("0.1,1.0");
  });
  it("toggles one head or a whole layer", () => {
    const both = headsOf(LAYERS, "encoder");
    expect(toggle([both[0]], [both[0]])).toEqual([]);
    expect(toggle([both[0]], both)).toEqual(both);
    expect(toggle(both, both)).toEqual([]);
  });
  it("follows a head that was selected elsewhere since", () => {
    const [a, b] = headsOf(LAYERS, "encoder");
    expect(chosenHeads([a], b, null)).toEqual([b]);
    expect(chosenHeads([a, b], b, null)).toEqual([a, b]);
    expect(chosenHeads(null, null, b)).toEqual([b]);
    expect(chosenHeads([], b, null)).toEqual([]);
  });
});
