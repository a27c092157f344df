// The sentence of the tab: about all maps, a selected one, or those that pass the filters.
import { route } from "../../lib/route.svelte";
import {
  filteredText,
  headName,
  inputsText,
  mapSentence,
  mixtureText,
  originText,
  setSentence,
  wholeSentence,
} from "../../lib/wording";
import { placeOf } from "./places";
import { inputsOf, mixtureOf, originOf, sources } from "./sources";
import { spread } from "./spread";
import { nearest } from "./typical";
import type { Described, Filter, MapsView } from "./view.svelte";

const NEAR = 20; // maps

export function sentenceOf(view: MapsView): string {
  const { described, projection, atlas } = view;
  if (!projection) return `The maps of ${atlas.model.name} are not projected yet.`;
  if (view.error) return "The maps cannot be shown.";
  if (!view.exists.length) return "";
  if (described) return ofSet(view, described);
  if (view.map >= 0) return ofMap(view);
  return wholeSentence({
    maps: view.total,
    heads: atlas.model.layers.reduce((sum, layer) => sum + layer.heads, 0),
    examples: atlas.data.examples,
    modality: atlas.data.modality,
    trustworthiness: projection.trustworthiness,
    patterns: view.grouping.level,
  });
}

function ofMap(view: MapsView): string {
  const { map, positions, shape } = view;
  const what = view.atlas.data.modality;
  const place = placeOf(shape, map);
  const near = nearest(positions, null, [positions[2 * map], positions[2 * map + 1]], NEAR, map);
  const name = view.nameOf(map);
  const heads = new Set(near.map((index) => index % (shape.layers * shape.heads))).size;
  const same = near.filter((index) => view.nameOf(index) === name).length;
  return mapSentence(`${headName(place)} on ${what} ${place.example}`, name, { maps: near.length, same, heads });
}

function ofSet(view: MapsView, { maps, by }: Described): string {
  const { shape, exists } = view;
  const what = view.atlas.data.modality;
  const has = (filter: Filter) => by.includes(filter);
  const subject = filteredText(maps.length, what, {
    head: has("head") ? view.head : null,
    pattern: has("cluster") ? (view.names.get(view.cluster!) ?? "this pattern") : null,
    example: has("example") ? view.example : null,
    query: has("search") ? (route.params.q ?? "").trim() : null,
    lasso: has("lasso"),
    saved: view.saved?.name,
    categories: view.checked,
  });
  if (!maps.length) return view.searching ? "Searching …" : `${subject}.`;
  const from = sources(shape, maps);
  return setSentence(subject, [
    !has("cluster") && view.patterns ? mixtureText(mixtureOf(spread(view.patterns, shape, exists, maps))) : "",
    has("head") ? "" : originText(originOf(shape, from)),
    !has("example") && view.examples && (!has("search") || has("lasso"))
      ? inputsText(inputsOf(from, view.examples.n_tokens), what)
      : "",
  ]);
}
