// Mean maps of clusters and of nodes of the tree. Call `meanMaps` while a component is initialized.
import { paths } from "../../generated/paths";
import { buffer, type AtlasCard } from "../../lib/api";
import type { Grouping } from "../../lib/grouping.svelte";
import { numberOf } from "../../lib/levels";
import { resource } from "../../lib/resource.svelte";

/** The mean map of a pattern by its number; undefined until it is loaded. */
export type MeanOf = (number: number) => Uint16Array | undefined;

export function meanMaps(atlas: () => AtlasCard, grouping: Grouping): MeanOf {
  const ofClusters = resource(() => (grouping.flat ? buffer(paths.means(grouping.flat)) : null));
  const ofNodes = resource(() => (grouping.tree ? buffer(paths.treeMeans(grouping.tree)) : null));
  return (number) => {
    const size = atlas().resolution ** 2;
    const cluster = grouping.flat?.clusters.findIndex((row) => row.cluster === number) ?? -1;
    const at = cluster < 0 ? (grouping.tree?.nodes.findIndex((node) => numberOf(node) === number) ?? -1) : cluster;
    const maps = cluster < 0 ? ofNodes.value : ofClusters.value;
    return at < 0 ? undefined : maps?.subarray(at * size, (at + 1) * size);
  };
}
