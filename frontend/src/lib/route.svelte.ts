// The URL holds the state of the page: #/tab/item?name=value. The selection is shared by all tabs.
import { hasTab, TABS, type TabId } from "../tabs";
import { embedded } from "./embedded";

type Params = Record<string, string>;
export interface Target {
  tab?: TabId;
  item?: string | null;
  params?: Record<string, string | number | null | undefined>;
}

const SHARED = ["of", "level", "head", "cluster", "example"]; // parameters that all tabs share: what is selected
const TEXT = ["text", "pair"]; // custom text, which all tabs share that can show a text
// A frame whose document is an attribute has no URL of its own: links in it would open the page around it.
const framed = typeof location !== "undefined" && location.protocol === "about:";
const start = embedded?.address ?? ""; // in place of a URL that names no view
const lastParams = new Map<string, Params>(); // of each tab, when it was last shown

const showsTexts = (tab: TabId) => TABS.some(({ id, opens }) => id === tab && opens === "example");
const pick = (params: Params, names: string[]): Params =>
  Object.fromEntries(names.filter((name) => name in params).map((name) => [name, params[name]]));

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
  private customText: Params = {}; // the one that was shown last, unless an example was chosen since

  readonly shareable = !framed; // whether there is a URL to copy
  #hash = location.hash || start;

  constructor() {
    this.read();
    if (framed) {
      addEventListener("click", (event) => this.follow(event));
      addEventListener("popstate", ({ state }) => this.read(state ?? start));
    } else addEventListener("hashchange", () => this.read(location.hash || start));
  }

  private read(hash = this.#hash) {
    this.#hash = hash;
    const { tab, item, params } = parse(hash);
    this.tab = tab;
    this.item = item;
    this.params = params;
    lastParams.set(tab, params);
    if (params.text) this.customText = pick(params, TEXT);
    else if (params.example || showsTexts(tab)) this.customText = {};
  }

  /** The URL of a target. Values that are not given are kept; another tab opens as it was last shown. */
  link({ tab = this.tab, item, params = {} }: Target): string {
    if (!hasTab(tab)) return this.#hash; // a page of one text has no others
    const shared = pick(this.params, SHARED);
    const last = Object.fromEntries(
      Object.entries(lastParams.get(tab) ?? {}).filter(([name]) => ![...SHARED, ...TEXT].includes(name)),
    );
    const text = showsTexts(tab) && (item ?? null) === null && !shared.example ? this.customText : {};
    const merged: Record<string, unknown> =
      tab === this.tab ? { ...this.params, ...params } : { ...last, ...shared, ...text, ...params };
    const given = Object.entries(merged).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const path = item === undefined ? (tab === this.tab ? this.item : null) : item;
    return `#/${tab}${path === null ? "" : `/${encodeURIComponent(path)}`}${query ? `?${query}` : ""}`;
  }

  /** Navigate to a target, as a new entry of the browser history or in place of the current one. */
  go(target: Target, options?: { replace?: boolean }) {
    this.open(this.link(target), options);
  }

  /** Navigate to a link. */
  open(hash: string, { replace = false } = {}) {
    if (hash === this.#hash) return;
    const [state, url] = framed ? [hash, undefined] : [null, hash];
    if (replace) history.replaceState(state, "", url);
    else history.pushState(state, "", url);
    this.read(hash);
  }

  /** Open a link that was clicked in a frame. */
  private follow(event: MouseEvent) {
    const link = event.target instanceof Element ? event.target.closest("a")?.getAttribute("href") : null;
    if (!link?.startsWith("#") || event.defaultPrevented) return;
    event.preventDefault();
    this.open(link);
  }
}

export const route = new Route();
