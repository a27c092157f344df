// The selection: a head, a cluster, an example. It is part of the URL and the same on every tab.
import { route } from "./route.svelte";

export interface HeadRef {
  layer: number;
  head: number;
}

const parseNumber = (text: string | undefined) =>
  text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : null;

/** The head of a key such as `3.10`. */
export function parseHead(text: string | null | undefined): HeadRef | null {
  const match = /^(\d{1,4})\.(\d{1,4})$/.exec(text ?? "");
  return match ? { layer: Number(match[1]), head: Number(match[2]) } : null;
}

export const headKey = ({ layer, head }: HeadRef) => `${layer}.${head}`;

export const selection = {
  get head(): HeadRef | null {
    return parseHead(route.params.head);
  },
  get cluster(): number | null {
    return parseNumber(route.params.cluster);
  },
  get example(): number | null {
    return parseNumber(route.params.example);
  },
  /** The selected head, cluster or example as it is written in URLs. */
  item(kind: "head" | "cluster" | "example"): string | null {
    const value = this[kind];
    return typeof value === "object" ? value && headKey(value) : String(value);
  },
  choose(params: { head?: HeadRef | null; cluster?: number | null; example?: number | null }) {
    const { head, ...rest } = params;
    route.go({ params: { ...rest, ...(head === undefined ? {} : { head: head && headKey(head) }) } });
  },
  clear() {
    route.go({ params: { head: null, cluster: null, example: null } });
  },
};
