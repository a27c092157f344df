// What the maps of a cluster do, in a plain sentence; as in src/headatlas/wording/patterns.py.
import { SAME_MEAN } from "../../generated/thresholds";
import type { ClusterRow } from "../api";
import { statistic } from "../statistics";
import { headName, layers } from "./clusters";
import { amount, capitalize, count, joinList } from "./numbers";

type Reason = ClusterRow["reasons"][number];
type Distinction = Omit<NonNullable<ClusterRow["distinction"]>, "plain">;

/** What a statistic says about maps: a clause, what is measured (empty: attention), and its means. */
export interface Said {
  says: string;
  measure: string;
  mean: number | null;
  rest: number | null;
}

/** What tells a cluster from others of the same name; `measure` is its statistic in words. */
export function apartLine(distinction: Distinction, measure: string): string {
  const { kind, higher, value, others } = distinction;
  const heads = joinList(distinction.heads.map(headName));
  const numbers = distinction.examples.map(count);
  const examples = `example${numbers.length > 1 ? "s" : ""} ${joinList(numbers)}`;
  switch (kind) {
    case "statistic":
    case "strength":
      return `${measure} is ${amount(value)}, in maps of the same name ${amount(others)}`;
    case "heads":
      return `mostly in ${heads}`;
    case "layers":
      return `mostly in ${layers(distinction.layers)}`;
    case "texts":
      return `on ${higher ? "longer" : "shorter"} texts`;
    case "examples":
      return `mostly on ${examples}`;
    case "lead":
      return `the largest part comes from ${heads}`;
    case "map":
      return `as in ${heads} on ${examples}`;
  }
}

const NO_COMPARISON = "there are no other maps to compare with";
const UNCLEAR = "nothing sets these maps clearly apart; most telling: ";

/** Both means; a part may have its name from the whole, though it differs little from all other maps. */
function means({ measure, mean, rest }: Said): string {
  const value = measure ? `${measure} ${amount(mean)}` : `${amount(mean)} of the attention`;
  const alike =
    mean !== null && rest !== null && Math.abs(mean - rest) < SAME_MEAN * Math.max(Math.abs(mean), Math.abs(rest));
  return alike ? `${value}, about as in other maps (${amount(rest)})` : `${value}, in other maps ${amount(rest)}`;
}

/** What the maps of a cluster do; `apart` is what tells them from others of the same name. */
export function patternSentence(said: Said[], named: boolean, apart: string): string {
  const clauses = said.map((item) => (named ? `${item.says}: ` : "") + means(item)).join("; ");
  const text = clauses ? (named ? "" : UNCLEAR) + clauses : NO_COMPARISON;
  return `${capitalize([text, apart].filter(Boolean).join("; "))}.`;
}

function saidBy({ statistic: name, plain, mean, rest, delta }: Reason, named: boolean): Said {
  const declared = statistic(name);
  if (!named || !declared) return { says: plain, measure: plain, mean, rest };
  const naming = declared.low && (delta ?? 1) <= 0 ? declared.low : declared.high;
  return { says: naming?.says ?? plain, measure: declared.low ? declared.short : "", mean, rest };
}

/** The sentence of a cluster, or of a node of a tree; null before correlate and for noise. */
export function pattern(
  row: Pick<ClusterRow, "cluster" | "phrases" | "reasons" | "named" | "distinction">,
): string | null {
  if (row.phrases === null || row.cluster < 0) return null;
  const apart = row.distinction ? apartLine(row.distinction, row.distinction.plain ?? "") : "";
  return patternSentence(
    row.reasons.map((reason) => saidBy(reason, row.named)),
    row.named,
    apart,
  );
}
