// Maps as rows of a table.
import type { Table } from "../../lib/figure";
import { placeOf } from "./places";
import type { MapsView } from "./view.svelte";

const place = (value: number) => Number((value / 65534).toFixed(4));

/** Every map of a set, with its text, its cluster, its place on the plane and the value it is coloured by. */
export function tableOf(view: MapsView, maps: Uint32Array): Table {
  const { examples, labels, names, positions, shape, shown } = view;
  const own = shown.card?.encoding === "label" || shown.card === null ? [] : [shown.label];
  const rows = Array.from(maps, (index) => {
    const { example, layer, head } = placeOf(shape, index);
    const cluster = labels ? (labels[index] === 65535 ? -1 : labels[index]) : null;
    const name = cluster === null ? null : (names.get(cluster) ?? null);
    const at = [place(positions[2 * index]), place(positions[2 * index + 1])];
    return [example, examples?.id[example], layer, head, cluster, name, ...at, ...own.map(() => view.valueOf(index))];
  });
  return { columns: ["example", "id", "layer", "head", "cluster", "cluster_name", "x", "y", ...own], rows };
}
