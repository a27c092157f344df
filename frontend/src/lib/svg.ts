// The words of a figure as they stand on the screen, for a file: each line at its place, cut where the page cuts it.
export const NS = "http://www.w3.org/2000/svg";

export interface Extent {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function svgElement(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

const SKIPPED = "svg, canvas, select, input, textarea, option, [data-no-export], [role=menu], .sr-only";

/** Puts the words of an element into a drawing, and tells how far they reach. */
export function appendText(element: Element, out: SVGElement, reach: (box: Extent) => void) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode() as Text | null; text; text = walker.nextNode() as Text | null) {
    const parent = text.parentElement!;
    if (!text.textContent?.trim() || parent.closest(SKIPPED)) continue;
    const style = getComputedStyle(parent);
    if (style.visibility === "hidden" || style.opacity === "0") continue;
    const clip = clipOf(parent, element);
    for (const { content, box } of linesOf(text, clip, style)) {
      reach(box);
      out.append(lineOf(content, box, style));
    }
  }
}

function lineOf(content: string, box: Extent, style: CSSStyleDeclaration): SVGElement {
  const height = box.bottom - box.top;
  const across = style.writingMode.startsWith("vertical");
  const halo = parseFloat(style.webkitTextStrokeWidth) || 0;
  const made = svgElement("text", {
    ...(across
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
  made.textContent = content;
  return made;
}

/** The nearest element beyond which the page shows nothing of another; what scrolls can be brought into sight. */
function clipOf(element: Element, root: Element): Element | null {
  for (let one: Element | null = element; one && one !== root; one = one.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(one);
    if (overflowX === "hidden" || overflowX === "clip" || overflowY === "hidden") return one;
  }
  return null;
}

interface Line {
  content: string;
  box: DOMRect;
}

/** The lines in which a text is broken on the screen, as far as they are seen. */
function linesOf(text: Text, clip: Element | null, style: CSSStyleDeclaration): Line[] {
  const content = text.textContent ?? "";
  const range = document.createRange();
  const boxOf = (from: number, length: number) => {
    range.setStart(text, from);
    range.setEnd(text, from + length);
    return range.getBoundingClientRect();
  };
  range.selectNodeContents(text);
  const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
  const found: Line[] = [];
  if (boxes.length === 1) {
    const trimmed = content.trim();
    found.push({ content: trimmed, box: boxOf(content.indexOf(trimmed), trimmed.length) });
  } else if (boxes.length)
    for (const part of content.matchAll(/\S+\s*/g)) {
      const box = boxOf(part.index, part[0].trimEnd().length);
      const last = found[found.length - 1];
      if (last && Math.abs(last.box.top - box.top) < 3) {
        last.content += part[0];
        last.box = new DOMRect(last.box.left, last.box.top, box.right - last.box.left, last.box.height);
      } else found.push({ content: part[0], box });
    }
  if (!clip) return found;
  const edge = clip.getBoundingClientRect();
  const seen = ({ box }: Line) => {
    const middle = box.top + box.height / 2;
    return box.left < edge.right && box.right > edge.left && middle < edge.bottom && middle > edge.top;
  };
  const cut = clip.scrollWidth > clip.clientWidth && !style.writingMode.startsWith("vertical");
  return found.filter(seen).map((line) => (cut ? shortened(line, edge.right - line.box.left, style) : line));
}

let pen: CanvasRenderingContext2D | null = null;

/** A line with an ellipsis where there is not enough room for it. */
function shortened({ content, box }: Line, room: number, style: CSSStyleDeclaration): Line {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return { content, box };
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const letters = [...content.slice(0, 400)];
  const fits = (most: string) => pen!.measureText(most).width <= room + 1;
  if (content.length <= 400 && fits(content)) return { content, box };
  while (letters.length > 1 && !fits(`${letters.join("")}…`)) letters.pop();
  return {
    content: `${letters.join("").trimEnd()}…`,
    box: new DOMRect(box.left, box.top, Math.min(box.width, room), box.height),
  };
}
