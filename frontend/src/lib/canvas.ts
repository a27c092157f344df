// Canvases that can be exported as shapes: the page and the exported file are drawn by the same function.
import { SvgPen, type Pen, type Tools } from "./pen";
import { cellShapes, type Box, type Shape } from "./shapes";

/** How to export elements for which the pixels on the screen are not enough. What is inside them is not exported. */
export const drawings = new WeakMap<Element, (raster: Raster) => HTMLCanvasElement | Shape>();

export const shapesBy = (raster: Raster, draw: (pen: Pen) => void): Shape => {
  const pen = new SvgPen(raster);
  draw(pen);
  return { name: "g", attributes: {}, children: pen.shapes };
};

/** Draw on a canvas of `width` × `height` pixels of the page; `draw` also makes the shapes of the exported file. */
export function paintCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  draw: (pen: Pen) => void,
  density = devicePixelRatio,
  drawShapes = draw, // where an exported file shows more than the screen can
) {
  const [w, h] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.save();
  draw(context);
  context.restore();
  drawings.set(canvas, (raster) => shapesBy(raster, drawShapes));
}

const MOST_CELLS = 10_000; // of an exported figure that are drawn as rectangles; more would make large files
let context: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, font: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return 7 * text.length;
  context.font = font;
  return context.measureText(text).width;
}

/** Pictures of one exported figure: rectangles while there are few cells, then images with one pixel per cell. */
export class Raster implements Tools {
  private left = MOST_CELLS;
  readonly measure = textWidth;

  image(source: HTMLCanvasElement, from: Box, to: Box, smooth = false): Shape | null {
    if (!from.width || !from.height || !to.width || !to.height) return null;
    const cells = from.width * from.height;
    const coarse = to.width >= 1.5 * from.width && to.height >= 1.5 * from.height; // cells, not a drawing
    if (!smooth && coarse && cells <= this.left) {
      const pixels = copyOf(source, from).getContext("2d")!.getImageData(0, 0, from.width, from.height);
      this.left -= cells;
      return cellShapes(pixels.data, from.width, from.height, to);
    }
    const href = dataUrl(from.width < source.width || from.height < source.height ? copyOf(source, from) : source);
    const rendering = smooth ? "auto" : "pixelated";
    const attributes = { ...to, href, preserveAspectRatio: "none", "image-rendering": rendering };
    return href ? { name: "image", attributes } : null;
  }
}

function copyOf(source: HTMLCanvasElement, { x, y, width, height }: Box): HTMLCanvasElement {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [width, height];
  copy.getContext("2d")!.drawImage(source, x, y, width, height, 0, 0, width, height);
  return copy;
}

function dataUrl(canvas: HTMLCanvasElement): string {
  try {
    return canvas.toDataURL("image/png");
  } catch {
    return ""; // the canvas has images from elsewhere
  }
}
