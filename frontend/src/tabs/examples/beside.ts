// What is shown beside an example: another example with the same heads, or another head on the same text.
import type { LayerCard } from "../../lib/api";
import { headKey, type HeadRef } from "../../lib/selection.svelte";
import { exists } from "./heads";

export type Beside = { example: number } | { head: HeadRef };

/** Reads `17` or `3.4`, and what people type: `text 17`, `L3·H4`, `l3h4`; null if there is no such example or head. */
export function parseBeside(text: string | undefined, layers: LayerCard[], examples: number): Beside | null {
  const typed = (text ?? "").trim();
  const head = /^l?\s*(\d{1,4})\s*[.·\s]*h?\s*(\d{1,4})$/i.exec(typed);
  if (head && /[^\d]/.test(typed.slice(0, -head[2].length))) {
    const place = { layer: Number(head[1]), head: Number(head[2]) };
    return exists(layers, place) ? { head: place } : null;
  }
  const number = /^(?:text|image)?\s*(\d{1,9})$/i.exec(typed);
  return number && Number(number[1]) < examples ? { example: Number(number[1]) } : null;
}

export const writeBeside = (beside: Beside) => ("head" in beside ? headKey(beside.head) : String(beside.example));
