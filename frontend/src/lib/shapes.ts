// SVG elements as plain values, and pictures of cells as rectangles.
export interface Shape {
  name: string;
  attributes: Record<string, string | number | undefined>;
  children?: Shape[];
  text?: string;
  size?: { width: number; height: number }; // of a drawing that is not as large as its element on the screen
}
export type Box = Record<"x" | "y" | "width" | "height", number>;

/** Text without the characters that an XML file cannot hold, which tokens and texts of datasets may contain. */
export const xmlText = (text: string) =>
  text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");

const round = (value: number) => Number(value.toFixed(3));

/**
 * Pixels (red, green, blue, opacity) as rectangles in a box: one for the most frequent color, and one for each run of
 * equal cells of a row in another color.
 */
export function cellShapes(pixels: Uint8ClampedArray, columns: number, rows: number, box: Box): Shape {
  const colors = new Uint32Array(pixels.buffer, pixels.byteOffset, columns * rows);
  const ground = mostFrequent(colors);
  const [width, height] = [box.width / columns, box.height / rows];
  const children: Shape[] = [];
  const add = (color: number, x: number, y: number, across: number, down: number) => {
    const opacity = color >>> 24;
    if (!opacity) return;
    children.push({
      name: "rect",
      attributes: {
        x: round(box.x + x * width),
        y: round(box.y + y * height),
        width: round(across * width),
        height: round(down * height),
        fill: hex(color),
        ...(opacity < 255 && { "fill-opacity": round(opacity / 255) }),
      },
    });
  };
  add(ground, 0, 0, columns, rows);
  for (let row = 0; row < rows; row++)
    for (let from = 0, run: number; from < columns; from += run) {
      const color = colors[row * columns + from];
      run = 1;
      while (from + run < columns && colors[row * columns + from + run] === color) run++;
      if (color !== ground) add(color, from, row, run, 1);
    }
  return { name: "g", attributes: { "shape-rendering": "crispEdges" }, children };
}

function mostFrequent(colors: Uint32Array): number {
  const counts = new Map<number, number>();
  let [best, most] = [0, 0];
  for (const color of colors) {
    const count = (counts.get(color) ?? 0) + 1;
    counts.set(color, count);
    if (count > most) [best, most] = [color, count];
  }
  return most && [...colors].every((color) => color >>> 24 === 255) ? best : 0;
}

/** Bytes are in the order of little-endian machines: red first. */
const hex = (color: number) =>
  `#${[color, color >>> 8, color >>> 16].map((part) => (part & 255).toString(16).padStart(2, "0")).join("")}`;

/** Text in lines of at most `width`; a word that is too long is cut. */
export function wrapped(text: string, width: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(cut(word, width, measure));
  }
  return lines;
}

function cut(word: string, width: number, measure: (text: string) => number): string {
  const letters = [...word.slice(0, 200)];
  if (letters.length === [...word].length && measure(word) <= width) return word;
  while (letters.length > 1 && measure(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("")}…`;
}

const SCALE = 3; // pixels of a PNG per pixel of a figure
const MOST_PIXELS = 1e8; // of a PNG, and
const LONGEST_SIDE = 16_000; // of one; browsers refuse larger canvases

/** Pixels of a PNG per pixel of a figure; fewer for figures that would be too large. */
export const pngScale = (width: number, height: number) =>
  Math.min(SCALE, LONGEST_SIDE / Math.max(width, height), Math.sqrt(MOST_PIXELS / (width * height)));
