// A figure of the page as one SVG: text as text, canvases as shapes, boxes with their colors and borders. Computed styles
// are written into it, so that it looks the same without the page.
import { drawings, Raster, textWidth } from "./canvas";
import { wrapped, type Box } from "./shapes";
import { NS, shapeElement, svgElement, textElements, type Extent } from "./svg";

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
const SKIPPED =
  "select, input, textarea, option, [data-no-export], [role=menu], .sr-only, .skeleton:not(canvas), button.link";
const MARGIN = 16; // pixels around a figure
const NARROWEST = 360; // pixels, so that the caption has a shape

/** A category in the legend below an exported figure. */
export interface LegendEntry {
  name: string;
  color: string;
  mark: number; // index of MARKS in lib/palette
}
export interface Frame {
  title: string;
  caption: string[]; // paragraphs
  legend: LegendEntry[];
}

/** A copy of an SVG element with its computed styles. */
function styledCopy(original: Element, { x, y, width, height }: Box): SVGElement {
  const copy = original.cloneNode(true) as SVGElement;
  const originals = [original, ...original.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex"]) element.removeAttribute(name);
  });
  copy.querySelectorAll("title").forEach((title) => title.remove());
  for (const [key, value] of Object.entries({ x, y, width, height })) copy.setAttribute(key, String(value));
  return copy;
}

const isClear = (color: string) => /^rgba\(.* 0\)$|^transparent$/.test(color);

/** The background and the borders of an element. */
function boxElements(style: CSSStyleDeclaration, { x, y, width, height }: Box): SVGElement[] {
  const out: SVGElement[] = [];
  const radius = style.borderRadius.endsWith("%") ? width / 2 : parseFloat(style.borderRadius) || 0;
  if (!isClear(style.backgroundColor))
    out.push(svgElement("rect", { x, y, width, height, rx: radius, fill: style.backgroundColor }));
  const sides = (["Top", "Right", "Bottom", "Left"] as const).map((side) => ({
    thick: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    color: style[`border${side}Color`],
  }));
  const [top, right, bottom, left] = sides;
  const t = top.thick;
  if (sides.every(({ thick, color }) => thick > 0 && thick === t && color === top.color)) {
    const inner = { x: x + t / 2, y: y + t / 2, width: width - t, height: height - t };
    if (!isClear(top.color) && inner.width > 0 && inner.height > 0)
      out.push(svgElement("rect", { ...inner, rx: radius, fill: "none", stroke: top.color, "stroke-width": t }));
    return out;
  }
  const line = (side: typeof top, box: Box) => {
    if (side.thick && !isClear(side.color)) out.push(svgElement("rect", { ...box, fill: side.color }));
  };
  line(top, { x, y, width, height: t });
  line(bottom, { x, y: y + height - bottom.thick, width, height: bottom.thick });
  line(left, { x, y, width: left.thick, height });
  line(right, { x: x + width - right.thick, y, width: right.thick, height });
  return out;
}

function imageToCanvas(image: HTMLImageElement): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  if (canvas.width && canvas.height) canvas.getContext("2d")!.drawImage(image, 0, 0);
  return canvas;
}

/** Collects what is visible in an element, including what is scrolled out of view. */
class Collector {
  readonly content = svgElement("g", {});
  readonly extent: Extent = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  readonly axes = new Set<string>(); // what the axes are, in words
  private readonly raster = new Raster();

  visit(element: Element, out: SVGElement = this.content, root = element) {
    if (element.matches(SKIPPED)) return;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
    const { left: x, top: y, width, height } = element.getBoundingClientRect();
    if (style.opacity !== "1" && element !== root) {
      const faint = svgElement("g", { opacity: style.opacity });
      out.append(faint);
      out = faint;
    }
    const box = { x, y, width, height };
    const axes = element.getAttribute("data-axes");
    if (axes) this.axes.add(axes);
    if (drawings.has(element) || element.matches("canvas, svg, img")) return this.picture(element, box, out);
    if (element !== root && width && height && !element.matches("button"))
      for (const part of boxElements(style, box)) this.add(part, box, out);
    for (const child of element.childNodes)
      if (child instanceof Element) this.visit(child, out, root);
      else if (child instanceof Text)
        for (const { line, box: extent } of textElements(child, style, root)) {
          this.reach(extent);
          out.append(line);
        }
  }

  private picture(element: Element, box: Box, out: SVGElement) {
    if (!box.width || !box.height) return;
    if (element instanceof SVGSVGElement) return this.add(styledCopy(element, box), box, out);
    const drawn = drawings.get(element)?.(this.raster);
    if (drawn && !(drawn instanceof HTMLCanvasElement)) {
      const group = svgElement("g", { transform: `translate(${box.x} ${box.y})` });
      group.append(shapeElement(drawn));
      return this.add(group, { ...box, ...drawn.size }, out);
    }
    const isImage = element instanceof HTMLImageElement;
    const source = drawn ?? (isImage ? imageToCanvas(element) : element);
    if (!(source instanceof HTMLCanvasElement)) return;
    const all = { x: 0, y: 0, width: source.width, height: source.height };
    const shape = this.raster.image(source, all, box, isImage || Boolean(drawn));
    if (shape) this.add(shapeElement(shape), box, out);
  }

  private add(part: SVGElement, { x, y, width, height }: Box, out: SVGElement) {
    this.reach({ left: x, top: y, right: x + width, bottom: y + height });
    out.append(part);
  }

  private reach(box: Extent) {
    const { extent } = this;
    extent.left = Math.min(extent.left, box.left);
    extent.top = Math.min(extent.top, box.top);
    extent.right = Math.max(extent.right, box.right);
    extent.bottom = Math.max(extent.bottom, box.bottom);
  }
}

/** Paragraphs below one another; returns the elements and their height. */
function paragraphs(texts: string[], width: number, size: number, weight: number, color: string) {
  const family = getComputedStyle(document.body).fontFamily;
  const measure = (text: string) => textWidth(text, `${weight} ${size}px ${family}`);
  const lines = texts.flatMap((text) => wrapped(text, width, measure));
  const height = Math.round(size * 1.4);
  const elements = lines.map((line, i) => {
    const look = { fill: color, "font-size": size, "font-family": family, "font-weight": weight };
    return shapeElement({ name: "text", attributes: { x: 0, y: i * height + size, ...look }, text: line });
  });
  return { elements, height: lines.length * height };
}

/** Entries in columns that are wide enough for the longest name. */
function legendElements(legend: LegendEntry[], width: number, color: string) {
  const family = getComputedStyle(document.body).fontFamily;
  const longest = Math.max(0, ...legend.map(({ name }) => textWidth(name, `400 12px ${family}`)));
  const columns = Math.max(1, Math.min(legend.length, Math.floor(width / (longest + 36))));
  const [columnWidth, rowHeight] = [width / columns, 20];
  const rows = Math.ceil(legend.length / columns);
  const elements = legend.flatMap(({ name, color: fill, mark }, i) => {
    const [x, y] = [Math.floor(i / rows) * columnWidth, (i % rows) * rowHeight];
    const look = { x: x + 16, y: y + 9.5, fill: color, "font-size": 12, "font-family": family };
    return [markElement(mark, x, y, fill), shapeElement({ name: "text", attributes: look, text: name })];
  });
  return { elements, height: rows * rowHeight };
}

function markElement(mark: number, x: number, y: number, color: string): SVGElement {
  const outline = { fill: "none", stroke: color, "stroke-width": 2.6 };
  if (mark === 0) return svgElement("circle", { cx: x + 5, cy: y + 5, r: 5, fill: color });
  if (mark === 1) return svgElement("circle", { cx: x + 5, cy: y + 5, r: 3.6, ...outline });
  if (mark === 2)
    return svgElement("path", { d: `M${x + 5} ${y} L${x + 10} ${y + 9.4} L${x} ${y + 9.4} Z`, fill: color });
  return svgElement("path", { d: `M${x + 1} ${y + 1} l8 8 m0 -8 l-8 8`, ...outline });
}

/** The content of an element with its title above it, its legend and its caption below. */
export function asSvg(element: Element, { title, caption, legend }: Frame): SVGSVGElement {
  const collector = new Collector();
  collector.visit(element);
  const { extent, content } = collector;
  const empty = extent.right < extent.left;
  const [left, top] = empty ? [0, 0] : [extent.left, extent.top];
  const size = empty ? { width: 0, height: 0 } : { width: extent.right - left, height: extent.bottom - top };
  const inside = Math.max(NARROWEST, Math.ceil(size.width));
  const style = getComputedStyle(document.documentElement);
  const color = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const [ink, muted] = [color("--ink", "#1b1f27"), color("--muted", "#5a6373")];
  const drawing = svgElement("g", { transform: `translate(${-left} ${-top})` });
  drawing.append(...content.childNodes);
  const rows = [
    { ...paragraphs([title], inside, 15, 600, ink), after: 10 },
    { elements: [drawing], height: Math.ceil(size.height), after: 16 },
    { ...legendElements(legend, inside, ink), after: legend.length ? 10 : 0 },
    { ...paragraphs([[...collector.axes].join(" "), ...caption], inside, 11, 400, muted), after: 0 },
  ];
  const width = inside + 2 * MARGIN;
  const height = rows.reduce((sum, row) => sum + row.height + row.after, 2 * MARGIN);
  const svg = svgElement("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}` }) as SVGSVGElement;
  svg.append(svgElement("rect", { width, height, fill: color("--paper", "#ffffff") }));
  let y = MARGIN;
  for (const row of rows) {
    const group = svgElement("g", { transform: `translate(${MARGIN} ${y})` });
    group.append(...row.elements);
    svg.append(group);
    y += row.height + row.after;
  }
  return svg;
}
