// What a head does, as a sentence: from the name of its main cluster and the statistic that tells most.
import type { AtlasCard, HeadRow, Profile } from "../../lib/api";
import { amount, count, headName, joinList, percent } from "../../lib/format";
import type { Unusual } from "./head";

type Said = [string, string[]]; // how the sentence has a phrase of a name, and the statistics whose sum measures it

const BEFORE = ["previous", "offset-2", "offset-3", "offset-4"];
const AFTER = ["next", "offset+2", "offset+3", "offset+4"];
const TARGETS: Record<string, Said> = {
  "previous token": ["the previous token", ["previous"]],
  "next token": ["the next token", ["next"]],
  itself: ["the token itself", ["self"]],
  "separator sink": ["separators", ["rest_to_sep"]],
  "first token sink": ["the first token", ["first"]],
  "register sink": ["registers", ["special:[REG]"]],
  punctuation: ["punctuation", ["punctuation"]],
  "same word": ["the same word elsewhere", ["same_token"]],
  induction: ["what followed the same token", ["induction"]],
  "tokens just before": ["the tokens just before", BEFORE],
  "tokens just after": ["the tokens just after", AFTER],
  neighbours: ["its neighbours", [...BEFORE, "self", ...AFTER]],
  "same row": ["patches of the same row", ["same_row"]],
  "same column": ["patches of the same column", ["same_column"]],
};
const MANNERS: Record<string, Said> = {
  broad: ["broadly", ["entropy_relative"]],
  sharp: ["sharply", ["entropy_relative"]],
  far: ["far", ["distance_share"]],
  near: ["nearby", ["distance_share"]],
  "looking ahead": ["ahead", ["signed_distance_share"]],
  "looking back": ["back", ["signed_distance_share"]],
};
const STEPS: Record<string, string> = { two: "2", three: "3", four: "4" };

function target(phrase: string): Said | undefined {
  const step = /^(two|three|four) (back|ahead)$/.exec(phrase);
  if (step) return [`the token ${phrase}`, [`offset${step[2] === "back" ? "-" : "+"}${STEPS[step[1]]}`]];
  const sink = /^(\S+) sink$/.exec(phrase);
  return TARGETS[phrase] ?? (sink ? [sink[1], [`special:${sink[1]}`]] : undefined);
}

/** What a name says, as a verb with the statistics that measure it; null for names that are not built from phrases. */
export function attends(name: string): { verb: string; statistics: string[][]; targets: number } | null {
  const phrases = name.replace(/ \d+$/, "").split(", ");
  const targets = phrases.map(target).filter((one) => one !== undefined);
  const manners = phrases.map((phrase) => MANNERS[phrase]).filter((one) => one !== undefined);
  if (targets.length + manners.length !== phrases.length) return null;
  const how = joinList(manners.map(([word]) => word));
  const what = joinList(targets.map(([word]) => `to ${word}`));
  const order = phrases.map((phrase) => (target(phrase) ?? MANNERS[phrase])[1]);
  return { verb: ["attends", how, what].filter(Boolean).join(" "), statistics: order, targets: targets.length };
}

const spread = (value: number, deviation: number | null) =>
  amount(value) + (deviation === null ? "" : ` ± ${amount(deviation)}`);

/** The number that goes with what is said: of the first statistics that are known, else of the most unusual one. */
function measure(atlas: AtlasCard, row: HeadRow, said: ReturnType<typeof attends>, first: Unusual | undefined): string {
  const at = (name: string) => atlas.statistics.findIndex((one) => one.name === name);
  const known = said?.statistics.findIndex((names) => names.every((name) => row.mean[at(name)] != null)) ?? -1;
  const parts = known >= 0 ? said!.statistics[known].map(at) : first ? [first.statistic] : [];
  if (!parts.length) return "";
  const value = parts.reduce((sum, one) => sum + row.mean[one]!, 0);
  const { plain } = atlas.statistics[parts[0]];
  const mass = known >= 0 && said!.targets === 1 && plain.startsWith("attention "); // what it goes to has just been said
  if (parts.length > 1 && !mass) return ` (${amount(value)} of attention to the former)`;
  return ` (${mass ? "mass" : plain} ${spread(value, parts.length > 1 ? null : row.deviation[parts[0]])})`;
}

export function headSentence(
  atlas: AtlasCard,
  row: HeadRow,
  found: Unusual[],
  profile: Profile | null,
  examples: number,
  second?: { name: string; share: number },
): string {
  const name = headName(row);
  const what = `${count(examples)} ${atlas.data.modality}${examples === 1 ? "" : "s"}`;
  const first = found[0];
  if (!profile || profile.main_share === null) {
    if (!first) return `${name} on ${what}.`;
    const { plain } = atlas.statistics[first.statistic];
    return `${name}: ${plain} ${spread(first.value, first.deviation)} on ${what}, other heads ${amount(first.others)} on average.`;
  }
  const said = attends(profile.name);
  const number = measure(atlas, row, said, first);
  const does =
    profile.main_cluster !== null && profile.main_cluster < 0
      ? "belongs to no cluster"
      : (said?.verb ?? `shows “${profile.name}”`);
  const like = profile.related[0];
  const alike =
    !like || like.similarity === null
      ? ""
      : like.similarity >= 0.5
        ? `; most like ${headName(like)} (similarity ${amount(like.similarity)})`
        : "; no other head is much like it";
  return `${name} ${does}${number} in ${percent(profile.main_share)} of ${what}${!profile.one_job && second?.share ? `, “${second.name}” in ${percent(second.share)}` : ""}${alike}.`;
}
