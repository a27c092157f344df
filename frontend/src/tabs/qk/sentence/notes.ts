// What the reader of a map has to know: where it is from, and what was changed.
import { plural } from "../../../lib/wording";
import type { ReaderState } from "./reader.svelte";

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
