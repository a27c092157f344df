// One statistic of every head on the text that is shown, to color heads by.
import { paths } from "../../generated/paths";
import { buffer, get, type AtlasCard, type ColumnCard, type Example } from "../../lib/api";
import { decodeAmount } from "../../lib/encoding";

export interface Amounts {
  example: Example;
  column: ColumnCard;
  low: number; // of all maps of the atlas; custom text may be beyond these ends
  high: number;
  of: (layer: number, head: number) => number; // NaN if it is not known
}

/** The statistics that heads can be colored by. */
export const statisticColumns = ({ columns }: AtlasCard) => columns.filter(({ group }) => group === "statistics");

/** The values of a statistic on an example, or on custom text. */
export async function loadAmounts(atlas: AtlasCard, example: Example, column: ColumnCard): Promise<Amounts> {
  const scale = { example, column, low: column.low ?? 0, high: column.high ?? 0 };
  if (example.key !== null) {
    const { names, values } = await get.textStatistics(example.key);
    const at = names.findIndex((name) => column.name === `stat.${name}`);
    return { ...scale, of: (layer, head) => values[layer]?.[head]?.[at] ?? NaN };
  }
  const all = await buffer(paths.column({ column: column.slug }));
  const { layers, heads } = atlas.model;
  const first = example.example * layers.length;
  return { ...scale, of: (layer, head) => decodeAmount(all[(first + layer) * heads + head], column) };
}
