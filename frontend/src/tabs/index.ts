// The tabs of the page, in the order of the navigation bar. A tab is its folder and its entry here: the frame, the
// addresses, the keyboard help and the tour read this list.
import type { Component } from "svelte";
import { paths } from "../generated/paths";
import { buffer, get, type AtlasCard } from "../lib/api";
import { embedded } from "../lib/embedded";
import { plural } from "../lib/wording";

/** A line of the keyboard help. */
export interface Key {
  keys: string;
  does: string;
}

/** What a tab shows: the item in its address (null: its list or start page), or custom text. */
export interface Shown {
  item: string | null;
  customText: boolean;
  atlas: AtlasCard;
}

export interface TourStep {
  title: string;
  text: string;
  about: string; // selector of what it describes: it gets a frame, and is not covered
}

export interface TabSpec<Id extends string = string> {
  id: Id; // in addresses: #/id/item
  title: string;
  load: () => Promise<{ default: Component<{ atlas: AtlasCard }> }>;
  preload?: () => Promise<unknown>; // what it shows first, requested while its code is loading
  opens: "head" | "cluster" | "example" | null; // the selected thing that a link to the tab opens as its item
  keys: (shown: Shown) => Key[];
  tour: (atlas: AtlasCard) => TourStep[];
}

const headCount = (atlas: AtlasCard) => atlas.model.layers.reduce((sum, layer) => sum + layer.heads, 0);

/** Keys that change the level, if there is a tree of patterns. */
const levelKeys = (atlas: AtlasCard): Key[] =>
  atlas.clusterings.some(({ finest }) => finest !== null) ? [{ keys: "[ ]", does: "coarser or finer patterns" }] : [];

const SPECS = [
  {
    id: "overview",
    title: "Overview",
    load: () => import("./overview/Overview.svelte"),
    preload: () => Promise.all([get.heads(), buffer(paths.headMaps())]),
    opens: null,
    keys: ({ atlas }) => [
      { keys: "← ↑ ↓ →", does: "move the selection from head to head" },
      { keys: "Enter", does: "open the selected head" },
      ...levelKeys(atlas),
    ],
    tour: (atlas) => [
      {
        title: "All heads at once",
        about: "[data-testid=head-grid]",
        text: `Each cell is one of ${plural(headCount(atlas), "head")}. It shows the head's mean attention map over ${plural(atlas.data.examples, atlas.data.modality)}: query down, key across. A line below the diagonal means attention to the previous token, a column means that all tokens attend to the same one.`,
      },
      {
        title: "Patterns have names",
        about: ".tab > .side > .legend",
        text: "Maps that look alike form a cluster. The legend gives each cluster's name and size; colors show which head belongs to which cluster. Point at a head for details, click to select it on every tab.",
      },
    ],
  },
  {
    id: "maps",
    title: "Maps",
    load: () => import("./maps/Maps.svelte"),
    opens: null,
    keys: ({ atlas }) => [
      { keys: "drag · wheel", does: "move · zoom" },
      { keys: "Shift + drag, or L", does: "draw a lasso" },
      { keys: "0 · Z", does: "show all points · zoom to the selected ones" },
      { keys: "Esc", does: "clear lasso, search and ticks first" },
      ...levelKeys(atlas),
    ],
    tour: (atlas) => [
      {
        title: "Every map is a point",
        about: ".tab > .main .points",
        text: `${plural(atlas.data.examples * headCount(atlas), "map")}; similar maps are close together. Hold Shift and drag to draw a lasso: the sidebar shows which layers, heads and ${atlas.data.modality}s the selected maps come from, compared with all maps.`,
      },
    ],
  },
  {
    id: "clusters",
    title: "Clusters",
    load: () => import("./clusters/Clusters.svelte"),
    opens: "cluster",
    keys: ({ item, atlas }) =>
      item === null
        ? [
            { keys: "← ↑ ↓ →", does: "move through the tree" },
            { keys: "Enter", does: "open the row or card that has the focus" },
            ...levelKeys(atlas),
          ]
        : [{ keys: "← →", does: "previous or next cluster, in the order of the cards" }],
    tour: () => [
      {
        title: "How sure is a pattern?",
        about: ".tab > .main",
        text: "One card per cluster: the evidence in numbers, its stability when the clustering is repeated, and the heads it occurs in. Open a card for effect sizes and the most typical and most unusual maps.",
      },
    ],
  },
  {
    id: "head",
    title: "Head",
    load: () => import("./head/Head.svelte"),
    opens: "head",
    keys: () => [
      { keys: "← →", does: "previous or next head" },
      { keys: "↑ ↓", does: "the same head one layer up or down" },
    ],
    tour: () => [
      {
        title: "One head against all others",
        about: ".tab > .main",
        text: "Its statistics, each as a marked dot among all heads; its clusters over the dataset; and the most similar heads. The arrow keys move from head to head.",
      },
    ],
  },
  {
    id: "data",
    title: "Data",
    load: () => import("./data/Data.svelte"),
    opens: null,
    keys: ({ atlas: { data } }) => [
      { keys: "Enter", does: `filter the ${data.modality}s by the bar that has the focus` },
    ],
    tour: ({ data }) => [
      {
        title: "What is in the dataset?",
        about: "[data-testid=columns]",
        text: `One histogram per column. Click a bar to list the ${data.modality}s it counts; filters of several columns are combined.`,
      },
    ],
  },
  {
    id: "examples",
    title: "Examples",
    load: () => import("./examples/Examples.svelte"),
    opens: "example",
    keys: ({ item, customText, atlas: { data } }) =>
      item === null && !customText
        ? [{ keys: "Enter", does: `open the ${data.modality} of the row` }]
        : [
            ...(item === null ? [] : [{ keys: "← →", does: `previous or next ${data.modality}` }]),
            { keys: "wheel, + − 0", does: "zoom the map, show all of it" },
            { keys: "Enter", does: "pin the token that is pointed at; with Shift as a second one" },
            { keys: "← ↑ ↓ → on all heads", does: "another head; Enter opens it" },
            { keys: "Esc", does: "unpin tokens" },
          ],
    tour: ({ data }) => [
      {
        title: `One ${data.modality}, token by token`,
        about: ".tab > .main",
        text:
          data.modality === "text"
            ? "Open a text to see which tokens attend to which, in any set of heads, as arcs and as a full map, or all heads at once. Enter custom text to run the model on it."
            : "Open an image to see which patches a patch attends to, in any set of heads.",
      },
    ],
  },
  {
    id: "tsne",
    title: "t-SNE",
    load: () => import("./tsne/Tsne.svelte"),
    opens: "example",
    keys: ({ item, customText }) =>
      item === null && !customText
        ? []
        : [
            { keys: "arrows on the small layouts", does: "another head" },
            { keys: "wheel, + − 0", does: "zoom a layout, show all of it" },
            { keys: "click a word", does: "pin it" },
          ],
    tour: ({ data }) => [
      {
        title: `One ${data.modality} as a head reads it`,
        about: ".tab > .main",
        text: `Attention is taken as similarity: ${data.modality === "text" ? "words" : "patches"} that attend to one another are close together. A head that attends to the previous token makes a thread, a head that attends to a single token a star. The sidebar shows all heads; the selected one is large.`,
      },
    ],
  },
  {
    id: "qk",
    title: "Queries & keys",
    load: () => import("./qk/Qk.svelte"),
    opens: "head",
    keys: () => [
      { keys: "← ↑ ↓ → in the matrix", does: "another head; Enter opens it" },
      { keys: "drag · wheel, + − 0", does: "move · zoom, show all" },
      { keys: "Shift + drag, or L", does: "draw a lasso around points of a head" },
      { keys: "Esc", does: "clear lasso, search and point first" },
    ],
    tour: ({ data, stages }) =>
      stages.some(({ stage, done }) => stage === "qk" && done)
        ? [
            {
              title: "Why a head attends as it does",
              about: ".tab > .main",
              text: `Attention is high where the query of a ${data.modality === "text" ? "token" : "patch"} fits the key of another. Moved into one space, a query lies near the keys that its head attends to. Each small plot is a head; open one to see its points, and how far the picture can be trusted.`,
            },
          ]
        : [],
  },
  {
    id: "probe",
    title: "Probe",
    load: () => import("./probe/Probe.svelte"),
    preload: () => get.probe(),
    opens: null,
    keys: () => [
      { keys: "← ↑ ↓ → on a grid", does: "another head; Enter opens it" },
      { keys: "Enter", does: "show cases of the relation that has the focus" },
    ],
    tour: ({ data }) => [
      {
        title: "What heads look at, and what they write",
        about: ".tab > .main",
        text: `One analysis per question, listed at the side: its findings in sentences, then every number.${data.modality === "text" ? " The search finds heads by the tokens that they attend from and to." : ""}`,
      },
    ],
  },
  {
    id: "compare",
    title: "Compare",
    load: () => import("./compare/Compare.svelte"),
    preload: () => get.comparisons(),
    opens: null,
    keys: () => [
      { keys: "B · A · D", does: "maps before, after, and their difference" },
      { keys: "[ ]", does: "an earlier or a later step of a series" },
      { keys: "← ↑ ↓ →", does: "move the selection from head to head; Enter opens it" },
    ],
    tour: () => [
      {
        title: "What did training change?",
        about: ".tab:not(.wide) > .main, .tab.wide .missing",
        text: "Another model on the same data, or checkpoints in their order, beside this one: which heads changed more than two seeds differ, in what, and when heads take up their jobs. Every head is shown before and after, and any kept text under both.",
      },
    ],
  },
] as const satisfies readonly TabSpec[];

export type TabId = (typeof SPECS)[number]["id"];
export const TABS: readonly TabSpec<TabId>[] = SPECS.filter(({ id }) => embedded?.tabs?.includes(id) ?? true);
export const tabById = (id: TabId) => TABS.find((tab) => tab.id === id)!;
export const hasTab = (id: TabId) => TABS.some((tab) => tab.id === id);
