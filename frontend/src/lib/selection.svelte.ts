// One selection for the whole page: a head, a cluster, an example.
import { route } from "./route.svelte";

export interface HeadPlace {
  layer: number;
  head: number;
}

const number = (text: string | undefined) => (text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : null);

/** `3.10` as a head. */
export function parseHead(text: string | null | undefined): HeadPlace | null {
  const found = /^(\d{1,4})\.(\d{1,4})$/.exec(text ?? "");
  return found ? { layer: Number(found[1]), head: Number(found[2]) } : null;
}

export const headKey = (place: HeadPlace) => `${place.layer}.${place.head}`;

export const selection = {
  get head(): HeadPlace | null {
    return parseHead(route.params.head);
  },
  get cluster(): number | null {
    return number(route.params.cluster);
  },
  get example(): number | null {
    return number(route.params.example);
  },
  /** The selected head, cluster or example as addresses have it. */
  item(kind: "head" | "cluster" | "example"): string | null {
    const value = this[kind];
    return typeof value === "object" ? value && headKey(value) : String(value);
  },
  choose(params: { head?: HeadPlace | null; cluster?: number | null; example?: number | null }) {
    const { head, ...rest } = params;
    route.go({ params: { ...rest, ...(head === undefined ? {} : { head: head && headKey(head) }) } });
  },
  clear() {
    route.go({ params: { head: null, cluster: null, example: null } });
  },
};
