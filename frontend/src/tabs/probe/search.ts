// A search over heads: the conditions of a form, in the address and as a request.
import type { SearchNames } from "../../lib/api";

export interface Condition {
  name: string;
  value: string;
}

/** Conditions as they stand in the address: `upos=VERB;kind=number`. */
export function parseConditions(text: string | undefined): Condition[] {
  return (text ?? "")
    .split(";")
    .map((part) => part.split("="))
    .filter(([name, ...value]) => name && value.join("="))
    .map(([name, ...value]) => ({ name, value: decodeURIComponent(value.join("=")) }));
}

export const formatConditions = (conditions: Condition[]) =>
  conditions.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join(";");

/** Conditions by name, each with all its values; those without a value are left out. */
export function grouped(conditions: Condition[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const { name, value } of conditions) if (value.trim()) (groups[name] ??= []).push(value.trim());
  return groups;
}

const LABELS: Record<string, string> = {
  token: "text of the token",
  kind: "kind of token",
  position: "position in the text",
  upos: "part of speech (upos)",
  xpos: "part of speech (xpos)",
  deprel: "relation to its head (deprel)",
  offset: "offset from the source",
  relation: "relation from the source",
  direction: "direction of the relation",
};

export interface Field {
  name: string;
  label: string;
  values: string[]; // to choose from; none: typed
}

/** The conditions that an end of a search can have; those on both tokens are given for the target. */
export function fieldsOf(names: SearchNames, target: boolean): Field[] {
  const relations = names.columns.deprel ?? [];
  const fields: [string, string[]][] = [
    ["token", []],
    ["kind", names.kinds],
    ["position", names.positions],
    ...Object.entries(names.columns),
  ];
  if (target) fields.push(["offset", []]);
  if (target && relations.length) fields.push(["relation", relations], ["direction", ["down", "up"]]);
  return fields.map(([name, values]) => ({ name, label: LABELS[name] ?? name, values }));
}
