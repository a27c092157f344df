// The address holds everything: #/tab/item?name=value. What is selected is kept from tab to tab.
import { TABS, type TabId } from "../tabs";

type Params = Record<string, string>;
export interface Target {
  tab?: TabId;
  item?: string | null;
  params?: Record<string, string | number | null | undefined>;
}

const SHARED = ["of", "head", "cluster", "example"]; // the selection, the same on every tab
const remembered = new Map<string, Params>(); // how each tab was left

function parse(hash: string): { tab: TabId; item: string | null; params: Params } {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name, ...rest] = path.split("/");
  const tab = (TABS.find(({ id }) => id === name) ?? TABS[0]).id;
  let item: string | null;
  try {
    item = rest.length && rest[0] ? decodeURIComponent(rest.join("/")) : null;
  } catch {
    item = null; // a broken escape is no item
  }
  return { tab, item, params: Object.fromEntries(new URLSearchParams(query)) };
}

class Route {
  tab = $state<TabId>(TABS[0].id);
  item = $state<string | null>(null);
  params = $state.raw<Params>({});

  constructor() {
    this.read();
    addEventListener("hashchange", () => this.read());
  }

  private read() {
    const { tab, item, params } = parse(location.hash);
    this.tab = tab;
    this.item = item;
    this.params = params;
    remembered.set(tab, params);
  }

  /** The address of a place; what is not named stays, and another tab begins as it was left. */
  link({ tab = this.tab, item, params = {} }: Target): string {
    const shared = Object.fromEntries(
      SHARED.filter((name) => name in this.params).map((name) => [name, this.params[name]]),
    );
    const left = Object.fromEntries(
      Object.entries(remembered.get(tab) ?? {}).filter(([name]) => !SHARED.includes(name)),
    );
    const all: Record<string, unknown> =
      tab === this.tab ? { ...this.params, ...params } : { ...left, ...shared, ...params };
    const kept = Object.entries(all).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    const where = item === undefined ? (tab === this.tab ? this.item : null) : item;
    return `#/${tab}${where === null ? "" : `/${encodeURIComponent(where)}`}${query ? `?${query}` : ""}`;
  }

  /** Go there: a new step for the back button, unless it replaces the present one. */
  go(target: Target, { replace = false } = {}) {
    const address = this.link(target);
    if (address === location.hash) return;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.read();
  }
}

export const route = new Route();
