// What a head does, as a sentence: from the name of its main cluster and the statistic that tells most.
import type { AtlasCard, HeadRow, Profile } from "../../lib/api";
import { amount, count, headName, joinList, percent } from "../../lib/format";
import { phrased } from "../../lib/statistics";
import type { Unusual } from "./head";

/** What a name says, as a verb with the statistics that measure it; null for names that are not built from phrases. */
export function attends(name: string): { verb: string; statistics: string[][]; targets: number } | null {
  const phrases = name.replace(/ \d+$/, "").split(", ").map(phrased);
  if (!phrases.every((phrase) => phrase !== undefined)) return null;
  const how = phrases.map(({ naming }) => naming.manner).filter(Boolean);
  const what = phrases.map(({ naming }) => naming.target).filter(Boolean);
  const verb = ["attends", joinList(how), joinList(what.map((word) => `to ${word}`))].filter(Boolean).join(" ");
  const measures = phrases.flatMap(({ statistics }) => statistics.map((entry) => entry.parts));
  return { verb, statistics: measures, targets: what.length };
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
