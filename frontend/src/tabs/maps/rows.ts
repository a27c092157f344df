// Maps as rows of a table.
import { decodeLabel, TOP } from "../../lib/encoding";
import type { Table } from "../../lib/export";
import { placeOf } from "./places";
import type { MapsView } from "./view.svelte";

const place = (value: number) => Number((value / TOP).toFixed(4));

/** Every map of a set, with its text, its cluster, its position on the plane and the value it is colored by. */
export function tableOf(view: MapsView, maps: Uint32Array): Table {
  const { examples, labels, names, positions, shape, shown } = view;
  const extra = shown.card?.encoding === "label" || shown.card === null ? [] : [shown.label];
  const rows = Array.from(maps, (index) => {
    const { example, layer, head } = placeOf(shape, index);
    const cluster = labels ? decodeLabel(labels[index]) : null;
    const name = cluster === null ? null : (names.get(cluster) ?? null);
    const at = [place(positions[2 * index]), place(positions[2 * index + 1])];
    return [example, examples?.id[example], layer, head, cluster, name, ...at, ...extra.map(() => view.valueOf(index))];
  });
  const columns = ["example", "id", "layer", "head", "cluster", "cluster_name", "x", "y", ...extra];
  return { columns, rows, units: { [shown.label]: shown.card?.unit ?? "" } };
}
