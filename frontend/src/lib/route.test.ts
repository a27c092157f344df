import { beforeAll, describe, expect, it, vi } from "vitest";

// The address of a browser, as far as the route needs it.
const location = { hash: "" };
vi.stubGlobal("location", location);
vi.stubGlobal("addEventListener", () => {});
const go = (_: unknown, __: string, hash: string) => (location.hash = hash);
vi.stubGlobal("history", { pushState: go, replaceState: go });
const { route } = await import("./route.svelte");

describe("custom text", () => {
  beforeAll(() => route.go({ tab: "examples", item: null, params: { text: "A bell rang.", pair: "Who?" } }));
  it("is kept on the way to t-SNE, and back from a tab that shows no text", () => {
    expect(route.link({ tab: "tsne", item: null })).toBe("#/tsne?text=A+bell+rang.&pair=Who%3F");
    expect(route.link({ tab: "overview" })).toBe("#/overview");
    route.go({ tab: "overview" });
    expect(route.link({ tab: "tsne", item: null })).toContain("text=A+bell");
    route.go({ tab: "tsne", item: null });
    route.go({ params: { text: "Another.", pair: null } });
    expect(route.link({ tab: "examples", item: null })).toBe("#/examples?text=Another.");
  });
  it("gives way to an example", () => {
    route.go({ tab: "maps", params: { example: 5 } });
    expect(route.link({ tab: "tsne", item: "5" })).toBe("#/tsne/5?example=5");
    route.go({ params: { example: null } });
    expect(route.link({ tab: "examples", item: null })).toBe("#/examples");
  });
  it("is gone when all texts are listed", () => {
    route.go({ tab: "examples", item: null, params: { text: "A bell rang." } });
    route.go({ item: null, params: { text: null } });
    expect(route.link({ tab: "tsne", item: null })).toBe("#/tsne");
  });
});
