// The facts of the model and of the dataset, each as a label and a value.
import type { AtlasCard } from "../api";
import { count, plural } from "./numbers";

type Fact = [string, string];

export function modelFacts(model: AtlasCard["model"]): Fact[] {
  const heads = model.layers.map((layer) => layer.heads);
  const total = heads.reduce((sum, n) => sum + n, 0);
  const [few, most] = [Math.min(...heads), Math.max(...heads)];
  const kinds = [...new Set(model.layers.map((layer) => layer.kind))];
  const layers = kinds
    .map((kind) => plural(model.layers.filter((layer) => layer.kind === kind).length, `${kind} layer`))
    .join(", ");
  const shared = model.key_heads !== model.heads ? `, sharing ${plural(model.key_heads, "key head")} per layer` : "";
  const facts: Fact[] = [
    ["name", model.name],
    ["family", model.family],
    ["layers", layers],
    ["heads", `${count(total)}: ${few === most ? few : `${few}–${most}`} per layer${shared}`],
  ];
  if (model.width) facts.push(["head width", count(model.width)]);
  if (model.max_tokens) facts.push(["longest input", plural(model.max_tokens, "token")]);
  if (model.grid)
    facts.push([
      "patches",
      `${model.grid.rows} × ${model.grid.columns}${model.grid.special.length ? `, and ${model.grid.special.join(", ")}` : ""}`,
    ]);
  if (model.revision) facts.push(["revision", model.revision.slice(0, 12)]);
  facts.push(["weights", model.hash.slice(0, 12)]);
  return facts;
}

export function dataFacts(data: AtlasCard["data"]): Fact[] {
  const facts: Fact[] = [
    ["name", data.name],
    ["examples", plural(data.examples, data.modality)],
    ["tokens", count(data.tokens)],
  ];
  if (data.windowed) facts.push(["long texts", `${count(data.windowed)} read in ${plural(data.windows, "window")}`]);
  if (data.cut) facts.push(["cut short", plural(data.cut, data.modality)]);
  if (data.skipped) facts.push(["left out", plural(data.skipped, data.modality)]);
  return facts;
}

/** The options of a result, as one line. */
export const optionsLine = (options: Record<string, unknown>) =>
  Object.entries(options)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join("  ") || "no options";
