// The page and Python write the same texts: both are tested on the same cases.
import { describe, expect, it } from "vitest";
import cases from "../../../../tests/support/wording_cases.json";
import * as wording from ".";

type Case = { arguments: unknown[]; text: string };
type Locality = Parameters<typeof wording.localityLine>[0];

/** An argument; numbers that JSON cannot express are written as {"float": "nan"}. */
function read(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("float" in value)) return value;
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[value.float as string];
}

/** Functions by their Python names, where the names or the arguments differ. */
const OTHERS: Record<string, (...values: never[]) => string> = {
  many: wording.plural,
  head_name: (layer: number, head: number) => wording.headName({ layer, head }),
  locality_line: (neighbors, similarity, all_pairs, p, significant, few) =>
    wording.localityLine({ neighbors, similarity, all_pairs, p } as Locality, significant, few),
  switches_line: (column, value, pattern, heads, mean) =>
    wording.textOf(wording.switchesPieces(column, { value, pattern, heads, mean })),
  span_changes_line: (column, label, heads, contrast) =>
    wording.textOf(wording.spanChangesPieces({ column, label, heads, contrast })),
  changes_line: (column, label, changed, contrast, more = false as never) =>
    wording.textOf(wording.changesPieces({ column, label, changed, contrast }, more)),
};

const camelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

for (const [name, list] of Object.entries<Case[]>(cases))
  describe(name, () => {
    const write = (OTHERS[name] ?? wording[camelCase(name) as keyof typeof wording]) as (
      ...values: unknown[]
    ) => string;
    for (const { arguments: values, text } of list)
      it(text || "(empty)", () => expect(write(...values.map(read)).replaceAll(wording.NBSP, " ")).toBe(text));
  });

describe("texts that only the page has", () => {
  it("small shares that are close to each other", () => {
    expect([0, 0.0003, 0.0005, 0.0314, 0.0999, 0.1, 0.999, null].map(wording.finePercent)).toEqual([
      "0%",
      "<1%",
      "0.1%",
      "3.1%",
      "10.0%",
      "10%",
      ">99%",
      "–",
    ]);
  });
  it("facts of models and options of results", () => {
    const layer = { index: 0, kind: "encoder" as const, heads: 12, key_heads: 4, causal: false };
    const model = { name: "m", family: "bert", layers: [layer, { ...layer, heads: 8 }], heads: 12, key_heads: 4 };
    const facts = Object.fromEntries(wording.modelFacts({ ...model, hash: "0123456789abcdef" } as never));
    expect(facts).toMatchObject({ layers: "2 encoder layers", weights: "0123456789ab" });
    expect(facts.heads).toBe("20: 8–12 per layer, sharing 4 key heads per layer");
    expect(wording.optionsLine({ k: 8, of: null, list: [1] })).toBe("k=8  list=[1]");
    expect(wording.optionsLine({})).toBe("no options");
  });
});
