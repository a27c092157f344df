// The caption of an exported figure.
import { tabById } from "../tabs";
import type { AtlasCard } from "./api";
import { currentClustering } from "./clustering";
import { page } from "./page.svelte";
import { route } from "./route.svelte";
import { sourceText, stateText } from "./wording";

/** The paragraphs below a figure: a note, model and dataset, the sentence of the tab, and what was chosen. */
export function captionOf(atlas: AtlasCard, note = ""): string[] {
  const { title, opens } = tabById(route.tab);
  const of = currentClustering(atlas);
  const params = of === null ? route.params : { ...route.params, of };
  const state = stateText(title, route.item, opens, params, atlas.data.modality);
  return [note, `${sourceText(atlas)} ${page.sentence}`, `${state}.`].filter(Boolean);
}
