import { describe, expect, it } from "vitest";
import { STATISTICS } from "../generated/statistics";
import { phrased, statistic } from "./statistics";

describe("declared statistics", () => {
  it("are known by name, those of special tokens for any token", () => {
    expect(statistic("previous")?.label).toBe("attention to the previous token");
    expect(statistic("special:[SEP]")?.group).toBe("separator");
    expect(statistic("special:$&")).toMatchObject({
      name: "special:$&",
      label: "attention to $&",
      parts: ["special:$&"],
      high: { phrase: "rests on $&", target: "$&", says: "attention rests on $&" },
    });
    for (const name of ["unheard_of", "constructor", "span:question", ""]) expect(statistic(name)).toBeUndefined();
  });
  it("are known for any two kinds of spans", () => {
    expect(statistic("span:question>answer")).toMatchObject({
      label: "attention from the question to the answer",
      short: "from the question to the answer",
      about: "spans",
      parts: ["span:question>answer"],
    });
    expect(statistic("span:user>user")?.label).toBe("attention from the user to itself");
  });
  it("are measured by stored ones", () => {
    const stored = new Set(STATISTICS.filter((entry) => entry.parts.includes(entry.name)).map((entry) => entry.name));
    for (const entry of STATISTICS)
      for (const part of entry.parts) expect(stored, `${entry.name} is made of ${part}`).toContain(part);
    expect(statistic("just_after")?.parts).toEqual(["next", "offset+2", "offset+3", "offset+4"]);
  });
  it("are found by their phrases, a target or a manner each", () => {
    const names = (phrase: string) => phrased(phrase)?.statistics.map((entry) => entry.name);
    expect(names("distant tokens")).toEqual(["reach", "distance_share"]); // the first that an atlas has
    expect(names("focuses sharply")).toEqual(["entropy_relative", "largest"]);
    expect(names("rests on separators")).toEqual(["rest_to_sep", "special:[SEP]", "special:</s>"]);
    expect(names("rests on <mask>")).toEqual(["special:<mask>"]);
    for (const phrase of ["mixed", "rests on ", "rests on the kitchen table", "rests on"])
      expect(phrased(phrase)).toBeUndefined();
    for (const { high, low } of STATISTICS)
      for (const naming of [high, low])
        if (naming) expect([naming.target, naming.manner].filter(Boolean), naming.phrase).toHaveLength(1);
  });
});
