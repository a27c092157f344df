// A pen that makes shapes of what is drawn with it. Figures on canvases are exported by the code that draws them: text
// stays text, lines stay lines. It has what our figures use of a canvas's context.
import { type Box, type Shape, xmlText } from "./shapes";

type Context = CanvasRenderingContext2D;
export type Pen = Pick<
  Context,
  | "save"
  | "restore"
  | "translate"
  | "rotate"
  | "scale"
  | "beginPath"
  | "closePath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "rect"
  | "clip"
  | "stroke"
  | "fillRect"
  | "strokeRect"
  | "setLineDash"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "globalAlpha"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "imageSmoothingEnabled"
> & {
  fill(rule?: CanvasFillRule): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
  drawImage(source: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
  drawImage(
    source: HTMLCanvasElement,
    fromX: number,
    fromY: number,
    fromWidth: number,
    fromHeight: number,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void;
};

/** What a pen needs of the page: pictures as shapes, and the width of text. */
export interface Tools {
  image(source: HTMLCanvasElement, from: Box, to: Box): Shape | null;
  measure(text: string, font: string): number;
}

interface State {
  matrix: number[]; // a, b, c, d, e, f
  group: Shape[]; // where shapes are added
  fillStyle: Context["fillStyle"];
  strokeStyle: Context["strokeStyle"];
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: number[];
}

const short = (value: number) => Number(value.toFixed(3));
const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { right: "end", end: "end", center: "middle" };
/** From a baseline to the one that SVG knows, in ems: not every program supports others. */
const BASELINES: Partial<Record<CanvasTextBaseline, number>> = { middle: 0.35, top: 0.8, bottom: -0.2 };

export class SvgPen implements Pen {
  readonly shapes: Shape[] = [];
  fillStyle: Context["fillStyle"] = "#000000";
  strokeStyle: Context["strokeStyle"] = "#000000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";
  imageSmoothingEnabled = false;
  private matrix = [1, 0, 0, 1, 0, 0];
  private dash: number[] = [];
  private group = this.shapes;
  private states: State[] = [];
  private path = "";
  private box: Box | null = null; // the last rectangle of the path

  constructor(private readonly tools: Tools) {}

  save() {
    const { matrix, group, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash } = this;
    this.states.push({
      matrix,
      group,
      fillStyle,
      strokeStyle,
      lineWidth,
      globalAlpha,
      font,
      textAlign,
      textBaseline,
      dash,
    });
  }
  restore() {
    const state = this.states.pop();
    if (state) Object.assign(this, state);
  }

  translate(x: number, y: number) {
    this.transform([1, 0, 0, 1, x, y]);
  }
  scale(x: number, y: number) {
    this.transform([x, 0, 0, y, 0, 0]);
  }
  rotate(angle: number) {
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    this.transform([cos, sin, -sin, cos, 0, 0]);
  }
  private transform([a, b, c, d, e, f]: number[]) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }

  beginPath() {
    this.path = "";
    this.box = null;
  }
  closePath() {
    this.path += "Z";
  }
  moveTo(x: number, y: number) {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number) {
    this.path += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(...points: [number, number, number, number, number, number]) {
    this.path += `C${points.map(short).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number) {
    this.box = { x, y, width, height };
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }
  /** Clips to the rectangle of the path, by an inner SVG: unlike a clip path it needs no name in the file. */
  clip() {
    if (!this.box) return;
    const { x, y, width, height } = this.box;
    const inner: Shape[] = [];
    const size = { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}`, overflow: "hidden" };
    this.add("svg", size, inner);
    this.group = inner;
    this.matrix = [1, 0, 0, 1, 0, 0];
  }

  fill(rule: CanvasFillRule = "nonzero") {
    if (!this.path || this.fillStyle === "transparent") return;
    this.add("path", { d: this.path, fill: String(this.fillStyle), ...(rule === "evenodd" && { "fill-rule": rule }) });
  }
  stroke() {
    if (this.path) this.add("path", { d: this.path, fill: "none", ...this.line() });
  }
  fillRect(x: number, y: number, width: number, height: number) {
    if (this.fillStyle === "transparent" || !width || !height) return;
    this.add("rect", { ...box(x, y, width, height), fill: String(this.fillStyle) });
  }
  strokeRect(x: number, y: number, width: number, height: number) {
    this.add("rect", { ...box(x, y, width, height), fill: "none", ...this.line() });
  }
  setLineDash(dash: Iterable<number>) {
    this.dash = [...dash];
  }
  private line() {
    const dashed = this.dash.length ? { "stroke-dasharray": this.dash.join(" ") } : {};
    return { stroke: String(this.strokeStyle), "stroke-width": short(this.lineWidth), ...dashed };
  }

  fillText(text: string, x: number, y: number) {
    const [, style = "", size = "10", family = "sans-serif"] = /^(.*?)([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const weight = /\b(bold|\d{3})\b/.exec(style)?.[1];
    const attributes = {
      x: short(x),
      y: short(y + Number(size) * (BASELINES[this.textBaseline] ?? 0)),
      fill: String(this.fillStyle),
      "font-size": Number(size),
      "font-family": family,
      ...(weight && { "font-weight": weight }),
      ...(ANCHORS[this.textAlign] && { "text-anchor": ANCHORS[this.textAlign] }),
    };
    if (text) this.add("text", attributes, undefined, text);
  }
  measureText(text: string) {
    return { width: this.tools.measure(text, this.font) };
  }

  drawImage(source: HTMLCanvasElement, ...at: number[]) {
    const from = at.length > 4 ? box(...(at.splice(0, 4) as Four)) : box(0, 0, source.width, source.height);
    const image = this.tools.image(source, from, box(...(at as Four)));
    if (image) this.add(image.name, image.attributes, image.children);
  }

  private add(name: string, attributes: Shape["attributes"], children?: Shape[], text?: string) {
    const { matrix, globalAlpha } = this;
    const moved = matrix.some((value, i) => value !== [1, 0, 0, 1, 0, 0][i]);
    this.group.push({
      name,
      attributes: {
        ...attributes,
        ...(globalAlpha < 1 && { opacity: short(globalAlpha) }),
        ...(moved && { transform: `matrix(${matrix.map((value) => Number(value.toFixed(5))).join(" ")})` }),
      },
      ...(children && { children }),
      ...(text !== undefined && { text: xmlText(text) }),
    });
  }
}

type Four = [number, number, number, number];
const box = (x: number, y: number, width: number, height: number): Box => ({
  x: short(x),
  y: short(y),
  width: short(width),
  height: short(height),
});
