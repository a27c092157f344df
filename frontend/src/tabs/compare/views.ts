// The views of the grid, and which of them there is room for.
export type GridView = "all" | "before" | "after" | "difference" | "matches";
export type Kind = "before" | "after" | "difference";

const [GUTTER, GAP, BETWEEN] = [34, 5, 28]; // pixels: names of layers, between maps, between grids
const SMALLEST = 28; // pixels of a map: smaller ones side by side are worse than one grid at a time

/** The width of each grid if `count` are side by side. */
export const columnWidth = (width: number, count: number) => Math.floor((width - (count - 1) * BETWEEN) / count);

/** Whether three grids with so many heads across fit side by side. */
export const allFit = (width: number, across: number) => (columnWidth(width, 3) - GUTTER) / across - GAP >= SMALLEST;

/** The views there are; heads that are matched have a list in place of differences. */
export function viewsFor(width: number, across: number, matched: boolean): GridView[] {
  if (matched) return ["matches", "before", "after"];
  return [...(allFit(width, across) ? (["all"] as const) : []), "before", "after", "difference"];
}

/** The view of the address, if there is room for it; else all, or differences, or matches. */
export function viewOf(param: string | undefined, views: GridView[]): GridView {
  const named = views.find((view) => view === param);
  return named ?? (views.includes("all") ? "all" : views.includes("matches") ? "matches" : "difference");
}

export const VIEW_NAMES: Record<GridView, string> = {
  all: "Side by side",
  before: "Before",
  after: "After",
  difference: "Difference",
  matches: "Matches",
};
