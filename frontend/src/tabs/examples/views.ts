// How an example is shown: its tokens as running text or with arcs next to the map of a head, or all heads at once.
import { ARCS } from "./arcs";
import type { Seen } from "./reduce";

export type View = "flow" | "arcs" | "model";
const SHORT = 32; // most tokens for which arcs are the default

/** Whether arcs between the tokens of a map are readable. */
export const arcsFit = ({ rows, columns }: { rows: number; columns: number }) => Math.max(rows, columns) <= ARCS;

/** The view that the URL asks for, if it is possible; `pooled`: only pooled maps are available. */
export function chooseView(wanted: string | undefined, seen: Seen | undefined, pooled: boolean): View {
  if (wanted === "model") return "model";
  if (!seen || !arcsFit(seen)) return "flow";
  if (wanted === "arcs" || wanted === "flow") return wanted;
  return !pooled && Math.max(seen.rows, seen.columns) <= SHORT ? "arcs" : "flow";
}

/** The views to choose from; `beside`: two maps are shown side by side. */
export const viewsFor = (text: boolean, arcs: boolean, beside = false): { value: View; label: string }[] => [
  { value: "flow", label: beside ? "Maps" : text ? "Text" : "Image" },
  ...(text && arcs ? [{ value: "arcs" as const, label: "Arcs" }] : []),
  { value: "model", label: "All heads" },
];
