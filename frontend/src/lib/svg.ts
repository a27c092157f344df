// SVG elements, and the text of a page element as SVG: every line at its position, truncated where the page does it.
import { xmlText, type Shape } from "./shapes";

export const NS = "http://www.w3.org/2000/svg";

/** A rectangle on the screen. */
export interface Extent {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function svgElement(name: string, attributes: Shape["attributes"]): SVGElement {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(key, String(value));
  return element;
}

/** A plain value as an SVG element. */
export function shapeElement({ name, attributes, children, text }: Shape): SVGElement {
  const element = svgElement(name, attributes);
  if (children) element.append(...children.map(shapeElement));
  if (text !== undefined) element.textContent = xmlText(text);
  return element;
}

/** The visible lines of a text node as SVG, with the extent of each. */
export function textElements(
  text: Text,
  style: CSSStyleDeclaration,
  root: Element,
): { line: SVGElement; box: Extent }[] {
  if (!text.textContent?.trim()) return [];
  const clip = clippingAncestor(text.parentElement!, root);
  return visibleLines(text, clip, style).map(({ content, box }) => ({ line: textElement(content, box, style), box }));
}

function textElement(content: string, box: Extent, style: CSSStyleDeclaration): SVGElement {
  const height = box.bottom - box.top;
  const vertical = style.writingMode.startsWith("vertical");
  const halo = parseFloat(style.webkitTextStrokeWidth) || 0;
  const element = svgElement("text", {
    ...(vertical
      ? { transform: `translate(${box.left + (box.right - box.left) * 0.26} ${box.top}) rotate(90)` }
      : { x: box.left, y: box.top + height * 0.78 }),
    fill: style.color,
    "font-size": style.fontSize,
    "font-family": style.fontFamily,
    "font-weight": style.fontWeight,
    "font-variant-numeric": style.fontVariantNumeric,
    ...(halo
      ? {
          stroke: style.webkitTextStrokeColor,
          "stroke-width": halo,
          "paint-order": "stroke",
          "stroke-linejoin": "round",
        }
      : {}),
  });
  element.textContent = xmlText(content);
  return element;
}

/** The nearest ancestor that hides what overflows it. One that scrolls does not count. */
function clippingAncestor(element: Element, root: Element): Element | null {
  for (let ancestor: Element | null = element; ancestor && ancestor !== root; ancestor = ancestor.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(ancestor);
    if (overflowX === "hidden" || overflowX === "clip" || overflowY === "hidden") return ancestor;
  }
  return null;
}

interface Line {
  content: string;
  box: DOMRect;
}

/** The lines of a text node on the screen, as far as they are visible. */
function visibleLines(text: Text, clip: Element | null, style: CSSStyleDeclaration): Line[] {
  const lines = linesOf(text);
  if (!clip) return lines;
  const edge = clip.getBoundingClientRect();
  const visible = ({ box }: Line) => {
    const middle = box.top + box.height / 2;
    return box.left < edge.right && box.right > edge.left && middle < edge.bottom && middle > edge.top;
  };
  const truncated = clip.scrollWidth > clip.clientWidth && !style.writingMode.startsWith("vertical");
  return lines
    .filter(visible)
    .map((line) => (truncated ? withEllipsis(line, edge.right - line.box.left, style) : line));
}

function linesOf(text: Text): Line[] {
  const content = text.textContent ?? "";
  const range = document.createRange();
  const boxOf = (start: number, length: number) => {
    range.setStart(text, start);
    range.setEnd(text, start + length);
    return range.getBoundingClientRect();
  };
  range.selectNodeContents(text);
  const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
  if (boxes.length === 1) {
    const trimmed = content.trim();
    return [{ content: trimmed, box: boxOf(content.indexOf(trimmed), trimmed.length) }];
  }
  const lines: Line[] = [];
  if (boxes.length)
    for (const word of content.matchAll(/\S+\s*/g)) {
      const box = boxOf(word.index, word[0].trimEnd().length);
      const last = lines[lines.length - 1];
      if (last && Math.abs(last.box.top - box.top) < 3) {
        last.content += word[0];
        last.box = new DOMRect(last.box.left, last.box.top, box.right - last.box.left, last.box.height);
      } else lines.push({ content: word[0], box });
    }
  return lines;
}

let context: CanvasRenderingContext2D | null = null;

/** A line that is cut to fit into `width` pixels. */
function withEllipsis({ content, box }: Line, width: number, style: CSSStyleDeclaration): Line {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return { content, box };
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const letters = [...content.slice(0, 400)];
  const fits = (text: string) => context!.measureText(text).width <= width + 1;
  if (content.length <= 400 && fits(content)) return { content, box };
  while (letters.length > 1 && !fits(`${letters.join("")}…`)) letters.pop();
  return {
    content: `${letters.join("").trimEnd()}…`,
    box: new DOMRect(box.left, box.top, Math.min(box.width, width), box.height),
  };
}
