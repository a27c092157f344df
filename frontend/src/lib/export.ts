// A figure as a file. What is on the screen (canvases, drawings, words) is put together as one SVG, which is also
// painted for a PNG; styles are written into the copy, so that it looks the same anywhere.
import { NS, svgElement, appendText, type Extent } from "./svg";

const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "fill-opacity",
  "stroke-opacity",
  "overflow",
  "font-size",
  "font-family",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "font-variant-numeric",
  "visibility",
  "paint-order",
];
const EDGE = 12; // pixels of paper around a picture
const SCALE = 2; // pixels of a PNG for each on the screen

/** How a canvas goes into a file where its pixels on the screen would not do: finer, complete, or as shapes. */
export const canvasExports = new WeakMap<HTMLCanvasElement, () => HTMLCanvasElement | SVGElement>();

/** A category that the picture in a file has to name. */
export interface LegendEntry {
  name: string;
  color: string;
  mark: number; // disc, ring, triangle, cross
}

function styled(original: Element): Element {
  const copy = original.cloneNode(true) as Element;
  const pairs: [Element, Element][] = [[original, copy]];
  const olds = original.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, at) => pairs.push([olds[at], one]));
  for (const [old, own] of pairs) {
    const style = getComputedStyle(old);
    for (const name of STYLES) own.setAttribute(name, style.getPropertyValue(name));
    own.removeAttribute("class");
    own.removeAttribute("style");
    own.removeAttribute("tabindex");
  }
  copy.querySelectorAll("title").forEach((one) => one.remove());
  return copy;
}

function canvasImage(canvas: HTMLCanvasElement): string {
  try {
    return canvas.toDataURL("image/png");
  } catch {
    return "";
  }
}

/** A canvas, a drawing, a picture or a filled box, at its place. */
function drawn(one: Element, place: Record<"x" | "y" | "width" | "height", number>): SVGElement | null {
  if (one instanceof HTMLCanvasElement || one instanceof HTMLImageElement) {
    const made = one instanceof HTMLCanvasElement ? (canvasExports.get(one)?.() ?? one) : copied(one);
    if (made instanceof SVGElement) {
      const moved = svgElement("g", { transform: `translate(${place.x} ${place.y})` });
      moved.append(made);
      return moved;
    }
    const href = canvasImage(made);
    return href
      ? svgElement("image", {
          ...place,
          href,
          preserveAspectRatio: "none",
          "image-rendering": one instanceof HTMLImageElement ? "auto" : "pixelated",
        })
      : null;
  }
  if (one instanceof SVGSVGElement) {
    const copy = styled(one) as SVGElement;
    for (const [key, value] of Object.entries(place)) copy.setAttribute(key, String(value));
    return copy;
  }
  const style = getComputedStyle(one);
  const round = style.borderRadius.endsWith("%") ? place.width / 2 : parseFloat(style.borderRadius) || 0;
  return /^rgba\(.* 0\)$|^transparent$/.test(style.backgroundColor)
    ? null
    : svgElement("rect", { ...place, rx: round, fill: style.backgroundColor });
}

function copied(picture: HTMLImageElement): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
  if (canvas.width && canvas.height) canvas.getContext("2d")!.drawImage(picture, 0, 0);
  return canvas;
}

/** Names of categories below a picture, in columns; as high as the answer says. */
function key(named: LegendEntry[], left: number, top: number, width: number, out: SVGElement): number {
  const style = getComputedStyle(document.body);
  const ink = style.color;
  const columns = Math.max(1, Math.min(named.length, Math.floor(width / 230)));
  const [column, row] = [width / columns, 20];
  const rows = Math.ceil(named.length / columns);
  named.forEach(({ name, color, mark }, at) => {
    const [x, y] = [left + Math.floor(at / rows) * column, top + 16 + (at % rows) * row];
    const line = { fill: "none", stroke: color, "stroke-width": 2.6 };
    if (mark < 2)
      out.append(svgElement("circle", { cx: x + 5, cy: y + 5, r: mark ? 3.6 : 5, ...(mark ? line : { fill: color }) }));
    else if (mark === 2)
      out.append(svgElement("path", { d: `M${x + 5} ${y} L${x + 10} ${y + 9.4} L${x} ${y + 9.4} Z`, fill: color }));
    else out.append(svgElement("path", { d: `M${x + 1} ${y + 1} l8 8 m0 -8 l-8 8`, ...line }));
    const most = Math.floor((column - 28) / 6.4);
    const text = svgElement("text", {
      x: x + 16,
      y: y + 9.5,
      fill: ink,
      "font-size": 12,
      "font-family": style.fontFamily,
    });
    text.textContent = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    out.append(text);
  });
  return rows * row + 12;
}

/** What is seen in an element, as an SVG. What scrolls is shown whole. */
export function asSvg(element: Element, named: LegendEntry[] = []): SVGSVGElement {
  const box = element.getBoundingClientRect();
  const frame: Extent = { left: box.left, top: box.top, right: box.right, bottom: box.bottom };
  const reach = (one: { left: number; top: number; right: number; bottom: number }) => {
    frame.left = Math.min(frame.left, one.left);
    frame.top = Math.min(frame.top, one.top);
    frame.right = Math.max(frame.right, one.right);
    frame.bottom = Math.max(frame.bottom, one.bottom);
  };
  const inner = svgElement("g", {});
  for (const one of element.querySelectorAll("canvas, svg, img, [data-fill]")) {
    if (one.parentElement?.closest("svg") || one.closest("[data-no-export], [role=menu]")) continue;
    const own = one.getBoundingClientRect();
    if (own.width === 0 || own.height === 0 || getComputedStyle(one).visibility === "hidden") continue;
    const made = drawn(one, { x: own.left, y: own.top, width: own.width, height: own.height });
    if (!made) continue;
    reach(own);
    inner.append(made);
  }
  appendText(element, inner, reach);
  const low = named.length ? key(named, frame.left, frame.bottom, frame.right - frame.left, inner) : 0;
  const [width, height] = [
    Math.ceil(frame.right - frame.left) + 2 * EDGE,
    Math.ceil(frame.bottom - frame.top + low) + 2 * EDGE,
  ];
  const out = svgElement("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}` }) as SVGSVGElement;
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#ffffff";
  inner.setAttribute("transform", `translate(${EDGE - frame.left} ${EDGE - frame.top})`);
  out.append(svgElement("rect", { width, height, fill: paper }), inner);
  return out;
}

function download(content: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const serialise = (svg: SVGSVGElement) => new XMLSerializer().serializeToString(svg);

export function saveSvg(element: Element, name: string, named?: LegendEntry[]) {
  download(new Blob([serialise(asSvg(element, named))], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(element: Element, name: string, named?: LegendEntry[]) {
  const svg = asSvg(element, named);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serialise(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Number(svg.getAttribute("width")) * SCALE;
  canvas.height = Number(svg.getAttribute("height")) * SCALE;
  const context = canvas.getContext("2d")!;
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) download(blob, `${name}.png`);
}

export interface Table {
  columns: string[];
  rows: (string | number | null | undefined)[][];
}

/** A table as comma-separated values. */
export function asCsv({ columns, rows }: Table): string {
  const cell = (value: string | number | null | undefined) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function saveCsv(table: Table, name: string) {
  download(new Blob([asCsv(table)], { type: "text/csv" }), `${name}.csv`);
}
