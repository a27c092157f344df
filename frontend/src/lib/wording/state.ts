// What the page shows, in words: an exported figure has no address.
import type { AtlasCard } from "../api";
import { headName } from "./clusters";
import { plural } from "./numbers";

type Words = (value: string, what: string) => string;

const heads: Words = (value) =>
  value
    .split(",")
    .map((key) => key.split(".").map(Number))
    .map(([layer, head]) => (Number.isInteger(head) ? headName({ layer, head }) : ""))
    .filter(Boolean)
    .join(", ");

/** Parameters of addresses that say what is shown, in the order of the words. Others, such as a zoom, are left out. */
const PARAMS: Record<string, Words> = {
  of: (value) => `clustering ${value}`,
  level: (value) => `level ${value}`,
  cluster: (value) => `pattern ${value}`,
  heads: (value) => `heads ${heads(value, "")}`,
  head: (value) => `head ${heads(value, "")}`,
  example: (value, what) => `${what} ${value}`,
  token: (value) => `token ${value}`,
  color: (value) => `colored by ${value}`,
  sort: (value) => `sorted by ${value}`,
  by: (value) => `plot ${value}`,
  step: (value) => `step ${value}`,
  point: (value) => `point ${value}`,
  projection: (value) => `projection ${value}`,
  axes: (value) => `${value} axes`,
  least: (value) => `least attention ${value}`,
  words: () => "tokens merged into words",
  special: () => "without special tokens",
  q: (value) => `search “${value}”`,
  only: (value) => `only patterns ${value}`,
  just: () => "only the selected example",
  lasso: () => "selected by a lasso",
};
const LONGEST = 80; // letters of a value

export function stateText(
  title: string,
  item: string | null,
  opens: string | null,
  params: Record<string, string>,
  what: string,
): string {
  const values = { ...params, ...(item !== null && opens ? { [opens]: item } : {}) };
  if (values.heads) delete values.head;
  const words = Object.entries(PARAMS)
    .filter(([name]) => values[name])
    .map(([name, say]) => say(values[name].slice(0, LONGEST), what));
  return [`Headatlas, ${title}`, ...words].join("; ");
}

export const sourceText = ({ model, data }: AtlasCard) =>
  `${model.name} on ${data.name}, ${plural(data.examples, data.modality)}.`;
