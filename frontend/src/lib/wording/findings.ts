// What the input changes in all heads, in sentences that begin the Overview. Tested on the same cases as
// headatlas.wording.changes. A sentence is a list of pieces, so that heads and values in it can be links.
import type { Findings } from "../api";
import type { HeadRef } from "../selection.svelte";
import { changedLine } from "./changes";
import { fewTexts, headName } from "./clusters";
import { capitalize, count, interval, joinList, pEquation, percent, plural, ratio } from "./numbers";

type Column = Findings["columns"][number];
type Switches = Column["switches"][number];
type Shares = Switches["mean"];

const SHOWN = 3; // heads

/** A part of a sentence; one with a head, a value or all heads of a column can be a link. */
export interface Piece {
  text: string;
  head?: HeadRef;
  value?: string;
  all?: boolean;
  note?: string; // what there is to say about the head
}

type ListedHead = Piece & { after?: string }; // what follows its name

export const textOf = (pieces: Piece[]) => pieces.map(({ text }) => text).join("");

/** The first heads, and how many are left out: none or at least two. Separators are those of `joinList`. */
function headPieces(heads: ListedHead[]): Piece[] {
  const rest = heads.length > SHOWN + 1 ? heads.length - SHOWN : 0;
  const listed: ListedHead[] = heads.slice(0, heads.length - rest);
  if (rest) listed.push({ text: `${count(rest)} more`, all: true });
  const last = listed.length - 1;
  const separator = (at: number) => (at < last ? ", " : listed.length > 2 ? ", and " : " and ");
  return listed.flatMap(({ after = "", ...piece }, at) => [
    ...(at ? [{ text: separator(at) }] : []),
    piece,
    ...(after ? [{ text: after }] : []),
  ]);
}

/** The shares of a pattern, where heads switch to it and elsewhere. */
export function switched({ share, otherwise, low, high }: Shares, whose = "its"): string {
  const text = `${percent(share)} of ${whose} maps against ${percent(otherwise)}`;
  return low === null || high === null ? text : `${text}, difference ${interval(share - otherwise, low, high)}`;
}

/** The heads that switch to a pattern for a value of a column, and the mean over them. */
export function switchesPieces(
  column: string,
  { value, pattern, heads, mean }: Omit<Switches, "cluster" | "examples">,
) {
  const one = heads.length === 1;
  return [
    { text: `${plural(heads.length, "head")} ${one ? "switches" : "switch"} to “${pattern}” if ` },
    { text: `${column} = ${value}`, value },
    { text: ": " },
    ...headPieces(
      heads.map((head) => ({
        text: headName(head),
        head: { layer: head.layer, head: head.head },
        note: `${switched(head)} (${pEquation(head.q, "q")})`,
      })),
    ),
    { text: `; ${switched(mean, one ? "its" : "their")}` },
  ] satisfies Piece[];
}

/** The heads that change with a column; `more`: others were mentioned before. */
export function changesPieces(
  { column, label, changed, contrast }: Omit<Column, "filters" | "explained" | "same" | "switches">,
  more: boolean,
): Piece[] {
  const one = changed.length === 1;
  const heads = changed.map((head) => changedHead(head, label));
  return [
    { text: `${plural(changed.length, more ? "more head" : "head")} ${one ? "changes" : "change"} with ${label}: ` },
    ...headPieces(heads),
    ...(contrast ? [{ text: `; ${contrastText(column, contrast, changed.length)}` }] : []),
  ];
}

type SpanFinding = Findings["spans"][number];

/** The heads in which attention between spans changes with a column, and its means in the first of them. */
export function spanChangesPieces({
  column,
  label,
  heads,
  contrast,
}: Omit<SpanFinding, "filters" | "statistic">): Piece[] {
  const { statistic, high, high_value, low, low_value } = contrast;
  const where = joinList(contrast.heads.map(headName));
  return [
    { text: `${statistic} changes with ${label} in ${plural(heads.length, "head")}: ` },
    ...headPieces(heads.map((head) => changedHead(head, label))),
    { text: `; in ${where} ${changedLine("it", column, high, high_value, low, low_value)}` },
  ];
}

const changedHead = (head: SpanFinding["heads"][number], label: string): ListedHead => ({
  text: headName(head),
  after: ` (${interval(head.explained, head.low, head.high, percent)})`,
  head: { layer: head.layer, head: head.head },
  note: `${label} explains ${interval(head.explained, head.low, head.high, percent)} of its variation (${pEquation(head.q, "q")})`,
});

function contrastText(column: string, contrast: NonNullable<Column["contrast"]>, heads: number): string {
  const whose =
    contrast.heads.length < heads ? `in ${joinList(contrast.heads.map(headName))}` : heads === 1 ? "its" : "their";
  const { statistic, high, high_value, low, low_value } = contrast;
  return `${whose} ${changedLine(statistic, column, high, high_value, low, low_value)}`;
}

/** That the effects of some columns cannot be told apart from that of another. */
export const sameColumnsLine = (labels: string[], label: string) =>
  `${joinList(labels)} ${labels.length === 1 ? "goes" : "go"} with ${label}: what changes with them cannot be told apart`;

/** That no head changes with any of the columns, on so many independent texts. */
export function noChangesLine(labels: string[], explained: number, significant: number, texts: number): string {
  if (!labels.length) return "no column to compare heads with";
  const reason = `none explains ${percent(explained)} of the variation of a head with q below ${ratio(significant)}`;
  return `no head changes with ${joinList(labels)}: ${reason}; ${plural(texts, "text")}`;
}

/** A sentence about a column: patterns that heads switch to, heads that change, or a statistic between spans. */
export interface Finding {
  column: Pick<Column, "column" | "label" | "filters">;
  statistic?: string; // between spans
  pieces: Piece[];
}

/** All sentences, the largest change of each column first; those about spans follow. */
export const findingsOf = ({ columns, spans }: Pick<Findings, "columns" | "spans">): Finding[] => [
  ...columns.flatMap((column) => [
    ...column.switches.map((group) => ({ column, pieces: switchesPieces(column.column, group) })),
    ...(column.changed.length ? [{ column, pieces: changesPieces(column, column.switches.length > 0) }] : []),
  ]),
  ...spans.map((finding) => {
    const [first, ...pieces] = spanChangesPieces(finding);
    return {
      column: finding,
      statistic: finding.statistic,
      pieces: [{ ...first, text: capitalize(first.text) }, ...pieces],
    };
  }),
];

/** Why there is no sentence; empty if vectors were not compared. */
export function nothingFound(
  { compared, texts }: Pick<Findings, "compared" | "texts">,
  thresholds: { groups: number; explained: number; significant: number },
): string {
  if (compared === null) return "";
  if (!compared.length && texts && texts < thresholds.groups) return capitalize(fewTexts(texts, thresholds.groups));
  return capitalize(noChangesLine(compared, thresholds.explained, thresholds.significant, texts));
}
