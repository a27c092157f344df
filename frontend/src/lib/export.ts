// Saving figures as files. Everything on the screen (canvases, SVG, images, text) becomes one SVG, which is also
// rendered for a PNG. Computed styles are written into the copy, so that it looks the same without the page.
import { appendText, NS, svgElement, type Extent } from "./svg";

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
const MARGIN = 12; // pixels around a figure
const SCALE = 2; // pixels of a PNG per pixel on the screen

/** How to export canvases for which the pixels on the screen are not enough: in finer resolution, or as shapes. */
export const canvasExports = new WeakMap<HTMLCanvasElement, () => HTMLCanvasElement | SVGElement>();

/** A category in the legend below an exported figure. */
export interface LegendEntry {
  name: string;
  color: string;
  mark: number; // index of MARKS in lib/palette
}

/** A copy of an SVG element with its computed styles. */
function styledCopy(original: Element): Element {
  const copy = original.cloneNode(true) as Element;
  const originals = [original, ...original.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  copies.forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
    element.removeAttribute("style");
    element.removeAttribute("tabindex");
  });
  copy.querySelectorAll("title").forEach((title) => title.remove());
  return copy;
}

function dataUrl(canvas: HTMLCanvasElement): string {
  try {
    return canvas.toDataURL("image/png");
  } catch {
    return ""; // the canvas has images from elsewhere
  }
}

type Box = Record<"x" | "y" | "width" | "height", number>;

/** A canvas, an SVG, an image or a filled box as an SVG element at its position. */
function exported(element: Element, box: Box): SVGElement | null {
  if (element instanceof HTMLCanvasElement || element instanceof HTMLImageElement) return exportedPixels(element, box);
  if (element instanceof SVGSVGElement) {
    const copy = styledCopy(element) as SVGElement;
    for (const [key, value] of Object.entries(box)) copy.setAttribute(key, String(value));
    return copy;
  }
  const style = getComputedStyle(element);
  const radius = style.borderRadius.endsWith("%") ? box.width / 2 : parseFloat(style.borderRadius) || 0;
  return /^rgba\(.* 0\)$|^transparent$/.test(style.backgroundColor)
    ? null
    : svgElement("rect", { ...box, rx: radius, fill: style.backgroundColor });
}

function exportedPixels(element: HTMLCanvasElement | HTMLImageElement, box: Box): SVGElement | null {
  const isImage = element instanceof HTMLImageElement;
  const source = isImage ? imageToCanvas(element) : (canvasExports.get(element)?.() ?? element);
  if (source instanceof SVGElement) {
    const group = svgElement("g", { transform: `translate(${box.x} ${box.y})` });
    group.append(source);
    return group;
  }
  const href = dataUrl(source);
  if (!href) return null;
  const rendering = isImage ? "auto" : "pixelated";
  return svgElement("image", { ...box, href, preserveAspectRatio: "none", "image-rendering": rendering });
}

function imageToCanvas(image: HTMLImageElement): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  if (canvas.width && canvas.height) canvas.getContext("2d")!.drawImage(image, 0, 0);
  return canvas;
}

/** Append a legend in columns to `out`; returns its height. */
function appendLegend(legend: LegendEntry[], left: number, top: number, width: number, out: SVGElement): number {
  const style = getComputedStyle(document.body);
  const columns = Math.max(1, Math.min(legend.length, Math.floor(width / 230)));
  const [columnWidth, rowHeight] = [width / columns, 20];
  const rows = Math.ceil(legend.length / columns);
  const maxLetters = Math.floor((columnWidth - 28) / 6.4);
  legend.forEach(({ name, color, mark }, i) => {
    const [x, y] = [left + Math.floor(i / rows) * columnWidth, top + 16 + (i % rows) * rowHeight];
    const text = svgElement("text", {
      x: x + 16,
      y: y + 9.5,
      fill: style.color,
      "font-size": 12,
      "font-family": style.fontFamily,
    });
    text.textContent = name.length > maxLetters ? `${name.slice(0, maxLetters - 1)}…` : name;
    out.append(markElement(mark, x, y, color), text);
  });
  return rows * rowHeight + 12;
}

function markElement(mark: number, x: number, y: number, color: string): SVGElement {
  const outline = { fill: "none", stroke: color, "stroke-width": 2.6 };
  if (mark === 0) return svgElement("circle", { cx: x + 5, cy: y + 5, r: 5, fill: color });
  if (mark === 1) return svgElement("circle", { cx: x + 5, cy: y + 5, r: 3.6, ...outline });
  if (mark === 2)
    return svgElement("path", { d: `M${x + 5} ${y} L${x + 10} ${y + 9.4} L${x} ${y + 9.4} Z`, fill: color });
  return svgElement("path", { d: `M${x + 1} ${y + 1} l8 8 m0 -8 l-8 8`, ...outline });
}

/** The content of an element as an SVG, including what is scrolled out of view. */
export function asSvg(element: Element, legend: LegendEntry[] = []): SVGSVGElement {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const extent: Extent = { left, top, right, bottom };
  const reach = (box: Extent) => {
    extent.left = Math.min(extent.left, box.left);
    extent.top = Math.min(extent.top, box.top);
    extent.right = Math.max(extent.right, box.right);
    extent.bottom = Math.max(extent.bottom, box.bottom);
  };
  const content = svgElement("g", {});
  for (const child of element.querySelectorAll("canvas, svg, img, [data-fill]")) {
    if (child.parentElement?.closest("svg") || child.closest("[data-no-export], [role=menu]")) continue;
    const box = child.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || getComputedStyle(child).visibility === "hidden") continue;
    const part = exported(child, { x: box.left, y: box.top, width: box.width, height: box.height });
    if (!part) continue;
    reach(box);
    content.append(part);
  }
  appendText(element, content, reach);
  const legendHeight = legend.length
    ? appendLegend(legend, extent.left, extent.bottom, extent.right - extent.left, content)
    : 0;
  const width = Math.ceil(extent.right - extent.left) + 2 * MARGIN;
  const height = Math.ceil(extent.bottom - extent.top + legendHeight) + 2 * MARGIN;
  const svg = svgElement("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}` }) as SVGSVGElement;
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#ffffff";
  content.setAttribute("transform", `translate(${MARGIN - extent.left} ${MARGIN - extent.top})`);
  svg.append(svgElement("rect", { width, height, fill: paper }), content);
  return svg;
}

function download(content: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const serialize = (svg: SVGSVGElement) => new XMLSerializer().serializeToString(svg);

export function saveSvg(element: Element, name: string, legend?: LegendEntry[]) {
  download(new Blob([serialize(asSvg(element, legend))], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(element: Element, name: string, legend?: LegendEntry[]) {
  const svg = asSvg(element, legend);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serialize(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Number(svg.getAttribute("width")) * SCALE;
  canvas.height = Number(svg.getAttribute("height")) * SCALE;
  const context = canvas.getContext("2d")!;
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) download(blob, `${name}.png`);
}

export interface Table {
  columns: string[];
  rows: unknown[][]; // text and numbers; lists and objects are written as JSON
}

/** Fields of rows as a table; all fields, unless some are named. */
export function fieldTable<Row extends object>(
  rows: readonly Row[],
  columns = Object.keys(rows[0] ?? {}) as (keyof Row & string)[],
): Table {
  return { columns, rows: rows.map((row) => columns.map((column) => row[column])) };
}

/** A table as comma-separated values. */
export function asCsv({ columns, rows }: Table): string {
  const cell = (value: unknown) => {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function saveCsv(table: Table, name: string) {
  download(new Blob([asCsv(table)], { type: "text/csv" }), `${name}.csv`);
}
