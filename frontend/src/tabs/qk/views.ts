// The views of the tab. A view is its folder and its entry here; it gets the state of the tab, and shows its main part, its
// side panel and its controls.
import type { Component } from "svelte";
import type { AtlasCard } from "../../lib/api";
import type { QkView } from "./view.svelte";

export interface ViewSpec {
  id: string; // in addresses: ?view=id
  title: string;
  load: () => Promise<{ default: Component<{ view: QkView }> }>;
  shown: (atlas: AtlasCard) => boolean;
}

export const VIEWS: readonly ViewSpec[] = [
  { id: "matrix", title: "Matrix", load: () => import("./matrix/Matrix.svelte"), shown: () => true },
  { id: "single", title: "Single", load: () => import("./single/Single.svelte"), shown: () => true },
  {
    id: "sentence",
    title: "Sentence",
    load: () => import("./sentence/Sentence.svelte"),
    shown: ({ model }) => model.modality === "text",
  },
  {
    id: "image",
    title: "Image",
    load: () => import("./image/Image.svelte"),
    shown: ({ model }) => model.modality === "image" && model.grid !== null,
  },
  { id: "average", title: "Average", load: () => import("./average/Average.svelte"), shown: () => true },
];

/** The view with this id, or the first: an address may name one that does not exist. */
export const viewById = (id: string | undefined, atlas: AtlasCard) => {
  const shown = VIEWS.filter((view) => view.shown(atlas));
  return shown.find((view) => view.id === id) ?? shown[0];
};
