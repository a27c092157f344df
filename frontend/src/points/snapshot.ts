// The picture for a file: points on the page's ground, with the names and the lasso that lie above them on screen.
import type { Size } from "./camera";
import type { Placed } from "./labels";

/** `element` lends its colours and its font; `line` is the lasso in pixels of the page. */
export function composed(
  picture: HTMLCanvasElement, element: Element, size: Size, names: readonly Placed[], line: readonly (readonly [number, number])[],
): HTMLCanvasElement {
  const out = document.createElement("canvas");
  out.width = picture.width;
  out.height = picture.height;
  const pen = out.getContext("2d");
  if (!pen || size.width === 0) return out;
  const style = getComputedStyle(element);
  const colour = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  const paper = colour("--paper", "#ffffff");
  pen.fillStyle = paper;
  pen.fillRect(0, 0, out.width, out.height);
  pen.drawImage(picture, 0, 0);
  pen.scale(out.width / size.width, out.height / size.height);
  lasso(pen, line, colour("--accent", "#1f5fae"));
  pen.font = `600 12px ${style.fontFamily}`;
  for (const one of names) name(pen, one, colour("--ink", "#1b1f27"), paper);
  return out;
}

function lasso(pen: CanvasRenderingContext2D, line: readonly (readonly [number, number])[], colour: string) {
  if (line.length < 3) return;
  pen.beginPath();
  line.forEach(([x, y]) => pen.lineTo(x, y));
  pen.closePath();
  pen.strokeStyle = pen.fillStyle = colour;
  pen.globalAlpha = 0.08;
  pen.fill("evenodd");
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5;
  pen.setLineDash([5, 3]);
  pen.stroke();
  pen.setLineDash([]);
}

function name(pen: CanvasRenderingContext2D, { left, top, width, text, colour }: Placed, ink: string, paper: string) {
  const from = left - width / 2;
  pen.fillStyle = paper;
  dot(pen, from + 6, top, 5.5);
  pen.fillStyle = colour;
  dot(pen, from + 6, top, 4);
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 3;
  pen.strokeStyle = paper;
  pen.fillStyle = ink;
  const shown = fitting(pen, text, width - 15);
  pen.strokeText(shown, from + 15, top);
  pen.fillText(shown, from + 15, top);
}

function dot(pen: CanvasRenderingContext2D, x: number, y: number, radius: number) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

/** The text, cut with an ellipsis where it is too long. */
function fitting(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length < 200 && pen.measureText(text).width <= room + 1) return text;
  const letters = [...text.slice(0, 200)];
  while (letters.length > 1 && pen.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
}
