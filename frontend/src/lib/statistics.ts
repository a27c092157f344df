// Statistics as Python declares them, by their names and by the phrases that name clusters.
import { SPAN, SPECIAL, STATISTICS, type Naming, type Statistic } from "../generated/statistics";

const byName = new Map(STATISTICS.map((entry) => [entry.name, entry]));
const [prefix] = SPECIAL.name.split("{token}");
const [spanPrefix, to] = SPAN.name.split(/\{query\}|\{key\}/);

/** The declaration of a statistic; undefined for unknown ones, as in an atlas of another version. */
export function statistic(name: string): Statistic | undefined {
  const known = byName.get(name);
  if (known) return known;
  if (name.startsWith(prefix)) return special(name.slice(prefix.length));
  const kinds = name.startsWith(spanPrefix) ? name.slice(spanPrefix.length).split(to) : [];
  return kinds.length === 2 ? span(kinds[0], kinds[1]) : undefined;
}

function span(query: string, key: string): Statistic {
  const fill = (template: string) =>
    (query === key ? template.replace("the {key}", "itself") : template)
      .replace("{query}", () => query)
      .replace("{key}", () => key);
  const name = SPAN.name.replace("{query}", () => query).replace("{key}", () => key);
  return { ...SPAN, name, label: fill(SPAN.label), short: fill(SPAN.short), parts: [name] };
}

function special(token: string): Statistic {
  const fill = (template: string) => template.replaceAll("{token}", () => token);
  const { name, label, short, group, high } = SPECIAL;
  return {
    ...SPECIAL,
    name: fill(name),
    label: fill(label),
    short: fill(short),
    group: fill(group),
    parts: [fill(name)],
    high: { ...high, phrase: fill(high.phrase), target: fill(high.target), says: fill(high.says) },
  };
}

/** How a phrase of a cluster name is written in sentences, and the statistics it comes from. */
export interface Phrase {
  naming: Naming;
  statistics: Statistic[];
}

const byPhrase = new Map<string, Phrase>();
for (const entry of STATISTICS)
  for (const naming of [entry.high, entry.low]) {
    if (!naming) continue;
    const known = byPhrase.get(naming.phrase);
    if (known) known.statistics.push(entry);
    else byPhrase.set(naming.phrase, { naming, statistics: [entry] });
  }

/** Look up a phrase; undefined if no statistic has it. */
export function phrased(phrase: string): Phrase | undefined {
  const known = byPhrase.get(phrase);
  if (known) return known;
  const [before, after] = SPECIAL.high.phrase.split("{token}");
  const token = phrase.slice(before.length, phrase.length - after.length);
  if (!/^\S+$/.test(token) || phrase !== before + token + after) return undefined;
  const entry = special(token);
  return { naming: entry.high!, statistics: [entry] };
}
