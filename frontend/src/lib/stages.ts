// The stages that must run before something can be shown.
import type { AtlasCard } from "./api";

const PREREQUISITES: Record<string, string[]> = {
  features: [],
  cluster: ["features"],
  correlate: ["features", "cluster"],
  project: ["features"],
};

/** The commands still to be run for a stage, including its own, as one shell line. */
export const commandsFor = (atlas: Pick<AtlasCard, "stages">, stage: string) =>
  [...(PREREQUISITES[stage] ?? []), stage]
    .map((name) => atlas.stages.find((card) => card.stage === name))
    .filter((card) => card && !card.done)
    .map((card) => card!.command)
    .join(" && ");
