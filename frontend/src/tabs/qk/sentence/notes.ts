// What the reader of a map has to know: why a token attends to another, where the map is from, and what was changed.
import { plural, readerSentence } from "../../../lib/wording";
import { shown } from "../../examples/tokens";
import type { ReaderState } from "./reader.svelte";
import { mainDimensions, sumOf } from "./vectors";

/** The sentence about the pair of tokens, or of patches, that is looked at; empty while it loads. */
export function pairSentence({ seen, pair, number, place, weight, products, atlas }: ReaderState): string {
  if (!seen || !pair || number === null) return "";
  const { modality } = atlas.data;
  const name = ({ text, special }: { text: string; special: boolean }) =>
    modality === "image" && !special ? `patch ${text}` : shown(text, 24);
  return readerSentence({
    place,
    number,
    modality,
    query: name(seen.queries[pair.query]),
    key: seen.same && pair.query === pair.key ? null : name(seen.keys[pair.key]),
    weight,
    score: products ? sumOf(products) : null,
    dimensions: products ? mainDimensions(products) : [],
  });
}

export function notes({ opened, plain, special, byNorm }: ReaderState): string[] {
  if (!opened) return [];
  const { pooled, note } = opened.bundle;
  const empty = plain?.empty ?? 0;
  return [
    ...(opened.how === "vectors" ? ["Computed from the stored queries and keys, which have 11 bits."] : []),
    ...(pooled ? [`Stored at ${pooled} × ${pooled}, pooled${note ? `: ${note}` : ""}`] : []),
    ...(!special && !pooled
      ? [
          `Special tokens are left out and each row is renormalized to a sum of 1${empty ? `; ${plural(empty, "row")} had attention on special tokens only and ${empty === 1 ? "is" : "are"} empty` : ""}.`,
        ]
      : []),
    ...(byNorm ? ["Each weight is multiplied by the norm of the key’s value: rows do not sum to 1."] : []),
  ];
}
