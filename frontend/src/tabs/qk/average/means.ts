// Mean attention at places: distances and positions of texts in a row, of images in rows and columns.
import type { Average, Means } from "../../../lib/api";
import { FULL } from "../../../lib/encoding";
import { amount, estimate, offsetName, patchOffsetName, plural } from "../../../lib/wording";

/** The row and the column of a place. */
export const cellOf = ({ columns, first_row, first_column }: Means, place: number): [row: number, column: number] => [
  first_row + Math.floor(place / columns),
  first_column + (place % columns),
];

/** What a place is, in words. */
export function placeName(means: Means, place: number, kind: "offsets" | "positions", image: boolean): string {
  const [row, column] = cellOf(means, place);
  if (kind === "offsets") return image ? patchOffsetName(row, column) : offsetName(column);
  return image ? `patch ${row},${column}` : `the token at position ${column}`;
}

/** The numbers of a place: its mean with the interval, what even attention would give, and over how many. */
export function placeLines({ mean, low, high, sources, even }: Means, place: number, modality: string): string[] {
  if (mean[place] === null) return [`no ${modality} is long enough`];
  return [
    `${estimate(mean[place], low[place], high[place])} of attention`,
    ...(even[place] === null ? [] : [`${amount(even[place])} if attention were even`]),
    `over ${plural(sources[place], modality)}${low[place] === null ? ", too few for an interval" : ""}`,
  ];
}

/** Mean attention as an attention map encodes it. */
export const encoded = ({ mean }: Means) =>
  Uint16Array.from(mean, (value) => Math.round(FULL * Math.sqrt(Math.min(1, Math.max(0, value ?? 0)))));

/** The largest value that is drawn. */
export const topOf = ({ mean, high, even }: Means) =>
  Math.max(1e-6, ...[...mean, ...high, ...even].map((value) => value ?? 0));

/** Places up to the last one that a text has. */
export function known(means: Means): Means {
  const last = means.mean.findLastIndex((value) => value !== null) + 1;
  const cut = <T>(values: T[]) => values.slice(0, last);
  return {
    ...means,
    columns: last,
    mean: cut(means.mean),
    low: cut(means.low),
    high: cut(means.high),
    sources: cut(means.sources),
    even: cut(means.even),
  };
}

const strongest = (means: Means | null) =>
  means ? means.mean.reduce<number>((best, value, at) => ((value ?? -1) > (means.mean[best] ?? -1) ? at : best), 0) : 0;

/** What a head attends to most: a distance, a position, or a special token of images. */
export function bestOf(average: Average, special: string[], image: boolean) {
  const found = (["offsets", "positions", "special"] as const).flatMap((kind) => {
    const means = average[kind];
    const at = strongest(means);
    const mean = means?.mean[at] ?? null;
    if (!means || mean === null) return [];
    const name = kind === "special" ? special[at] : placeName(means, at, kind, image);
    return [{ name, mean, low: means.low[at], high: means.high[at], even: means.even[at] }];
  });
  return found.reduce<(typeof found)[number] | null>(
    (best, item) => (!best || item.mean > best.mean ? item : best),
    null,
  );
}

/** Round numbers between 0 and a largest value, for an axis. */
export function ticksTo(top: number, most = 4): number[] {
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}
