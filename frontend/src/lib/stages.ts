// What has to be run before something can be shown.
import type { AtlasCard } from "./api";

const BEFORE: Record<string, string[]> = {
  features: [],
  cluster: ["features"],
  correlate: ["features", "cluster"],
  project: ["features"],
};

/** The commands that are still missing for a stage, itself included, as one line for a shell. */
export const commandsFor = (atlas: Pick<AtlasCard, "stages">, stage: string) =>
  [...(BEFORE[stage] ?? []), stage]
    .map((name) => atlas.stages.find((one) => one.stage === name))
    .filter((one) => one && !one.done)
    .map((one) => one!.command)
    .join(" && ");
