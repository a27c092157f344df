// The legend of the exported figure, with names in full: on the page they are cut where there is no room.
import type { LegendEntry } from "../../lib/drawing";
import { categoryColor, categoryMark } from "../../lib/palette";
import type { Theme } from "../../lib/theme.svelte";
import { count } from "../../lib/wording";
import type { MapsView } from "./view.svelte";

export function legendOf({ coded, paint }: MapsView, theme: Theme): LegendEntry[] {
  return (coded?.categories ?? []).map(({ name, number, key, count: maps }) => ({
    name: `${name} (${count(maps)})`,
    color: coded!.ordered
      ? `rgb(${[...paint.lut.subarray(4 * key, 4 * key + 3)].join(" ")})`
      : categoryColor(number, theme),
    mark: coded!.ordered ? 0 : categoryMark(number),
  }));
}
