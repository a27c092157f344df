// The sentences of this tab.
import type { AtlasCard } from "../../lib/api";
import { count, headName, joinList, plural, percent } from "../../lib/format";
import type { Bundle } from "./maps";
import { received } from "./arcs";
import type { Seen } from "./reduce";
import { shown } from "./tokens";
import { RARE, tooFew, type Unlike } from "./unusual";

const NAMED = 3; // so that the sentence stays on one line

export function saysExample(atlas: AtlasCard, number: number, rare: Unlike[] | null): string {
  const what = atlas.data.modality;
  const heads = atlas.model.layers.reduce((sum, layer) => sum + layer.heads, 0);
  if (!rare || (!rare.length && tooFew(atlas.data.examples, what)))
    return `${what === "text" ? "Text" : "Image"} ${number} of ${count(atlas.data.examples)}, seen by ${plural(heads, "head")}.`;
  if (!rare.length)
    return `No head treats this ${what} unlike others: each of ${count(heads)} does what it does on at least ${percent(RARE)} of ${what}s.`;
  const named = rare
    .slice(0, NAMED)
    .map(
      (one, i) => `${headName(one)} (as ${i === 0 ? "on " : ""}${percent(one.share)}${i === 0 ? ` of ${what}s` : ""})`,
    );
  const rest = rare.length - NAMED;
  return `${rare.length} of ${plural(heads, "head")} ${rare.length === 1 ? "treats" : "treat"} this ${what} unlike others: ${joinList([...named, ...(rest > 0 ? [`${rest} more`] : [])])}.`;
}

/** What stands out in a text of one's own: the token that gets most. */
export function saysTry(bundle: Bundle | undefined, seen: Seen | undefined): string {
  if (!bundle || !seen || !bundle.heads.length || !seen.columns) return "A text of your own, on the live model.";
  const gets = received(seen.values, seen.rows, seen.columns);
  const best = gets.reduce((most, value, i) => (value > gets[most] ? i : most), 0);
  const who =
    bundle.heads.length === 1 ? `${headName(bundle.heads[0])} gives` : `${bundle.heads.length} heads together give`;
  return `On your text of ${plural(bundle.queries.length, "token")}, ${who} ${percent(gets[best])} of attention to “${shown(seen.keys[best].text, 24)}”.`;
}

export function saysList(atlas: AtlasCard, ids: string[], unlike: Uint16Array | null, shownRows: number): string {
  const what = atlas.data.modality;
  const heads = atlas.model.layers.reduce((sum, layer) => sum + layer.heads, 0);
  const all = plural(ids.length, what);
  const part = shownRows < ids.length ? `${count(shownRows)} of ${all} shown; ` : `${all}; `;
  if (!unlike || !unlike.length) return `${part}open one to see what every head does on it.`;
  let [some, best] = [0, 0];
  for (let i = 0; i < unlike.length; i++) {
    if (unlike[i]) some++;
    if (unlike[i] > unlike[best]) best = i;
  }
  if (!some && tooFew(ids.length, what)) return `${part}too few to tell which of them heads treat unlike others.`;
  if (!some) return `${part}no head treats any of them unlike the others.`;
  return `${part}${count(some)} ${shownRows < ids.length ? "of all " : ""}${some === 1 ? "is" : "are"} treated unlike others by some head, most of all “${shown(ids[best] ?? String(best), 40)}”, by ${unlike[best]} of ${heads}.`;
}
