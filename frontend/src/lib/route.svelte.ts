// The URL holds the state of the page: #/tab/item?name=value. The selection is shared by all tabs.
import { TABS, type TabId } from "../tabs";

type Params = Record<string, string>;
export interface Target {
  tab?: TabId;
  item?: string | null;
  params?: Record<string, string | number | null | undefined>;
}

const SHARED = ["of", "level", "head", "cluster", "example"]; // parameters that all tabs share: what is selected
const lastParams = new Map<string, Params>(); // of each tab, when it was last shown

function parse(hash: string): { tab: TabId; item: string | null; params: Params } {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name, ...rest] = path.split("/");
  const tab = (TABS.find(({ id }) => id === name) ?? TABS[0]).id;
  let item: string | null;
  try {
    item = rest.length && rest[0] ? decodeURIComponent(rest.join("/")) : null;
  } catch {
    item = null; // invalid percent-encoding
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
    lastParams.set(tab, params);
  }

  /** The URL of a target. Values that are not given are kept; another tab opens as it was last shown. */
  link({ tab = this.tab, item, params = {} }: Target): string {
    const shared = Object.fromEntries(
      SHARED.filter((name) => name in this.params).map((name) => [name, this.params[name]]),
    );
    const last = Object.fromEntries(
      Object.entries(lastParams.get(tab) ?? {}).filter(([name]) => !SHARED.includes(name)),
    );
    const merged: Record<string, unknown> =
      tab === this.tab ? { ...this.params, ...params } : { ...last, ...shared, ...params };
    const given = Object.entries(merged).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const path = item === undefined ? (tab === this.tab ? this.item : null) : item;
    return `#/${tab}${path === null ? "" : `/${encodeURIComponent(path)}`}${query ? `?${query}` : ""}`;
  }

  /** Navigate to a target, as a new entry of the browser history or in place of the current one. */
  go(target: Target, { replace = false } = {}) {
    const hash = this.link(target);
    if (hash === location.hash) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.read();
  }
}

export const route = new Route();
