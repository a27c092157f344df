// What heads are colored by: how far they moved, or the difference of a statistic.
import type { Comparison, HeadShift } from "../../lib/api";
import { amountsOf, differencesOf, type Amounts } from "../../parts/grid/amounts";

export interface Option {
  value: string;
  label: string;
  group?: string;
}

const STATISTIC = "stat:";
const NONE = "none";
const SHIFT = "Jensen–Shannon divergence of maps, 0 to 1";

/** What there is to color by: only what at least one head has. */
export function colorOptions({ statistics }: Comparison, heads: HeadShift[]): Option[] {
  const has = (value: (head: HeadShift) => number | null) => heads.some((head) => value(head) !== null);
  return [
    ...(has(({ shift }) => shift) ? [{ value: "shift", label: "shift" }] : []),
    ...(has(({ excess }) => excess) ? [{ value: "excess", label: "shift beyond seeds" }] : []),
    { value: NONE, label: "nothing, maps only" },
    ...statistics.flatMap(({ name, plain }, at) =>
      has(({ differences }) => differences[at] ?? null)
        ? [{ value: STATISTIC + name, label: plain, group: "Statistics, after − before" }]
        : [],
    ),
  ];
}

/** The amounts of a color option; null for maps only. Shifts start at 0, differences are centered at it. */
export function amountsBy(by: string, { statistics }: Comparison, heads: HeadShift[]): Amounts | null {
  if (by === "shift") {
    const amounts = amountsOf({ label: "shift", unit: SHIFT, values: heads.map(({ shift }) => shift) });
    return amounts && { ...amounts, low: 0 };
  }
  if (by === "excess")
    return differencesOf({ label: "shift beyond seeds", unit: SHIFT, values: heads.map(({ excess }) => excess) });
  const at = statistics.findIndex(({ name }) => STATISTIC + name === by);
  if (at < 0) return null;
  const { plain, unit } = statistics[at];
  return differencesOf({ label: `${plain}, after − before`, unit, values: heads.map((row) => row.differences[at]) });
}

/** The heads in which most changed first: those beyond seeds if these are known, else by shift. */
export function byChange(heads: HeadShift[]): HeadShift[] {
  const known = heads.filter(({ shift }) => shift !== null);
  const size = ({ excess, shift }: HeadShift) => excess ?? shift!;
  return known.sort((a, b) => Number(b.changed ?? 0) - Number(a.changed ?? 0) || size(b) - size(a));
}
