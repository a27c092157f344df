import { describe, expect, it } from "vitest";
import { SvgPen } from "./pen";
import { cellShapes, pngScale, wrapped, xmlText, type Box, type Shape } from "./shapes";

const image = (_: unknown, from: Box, to: Box): Shape => ({ name: "image", attributes: { ...to, from: from.x } });
const newPen = () => new SvgPen({ image, measure: (text) => 6 * text.length });

describe("a pen", () => {
  it("writes text as text, with its anchor, font and baseline", () => {
    const pen = newPen();
    pen.font = '600 11px ui-monospace, "SF Mono"';
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillStyle = "#123456";
    pen.fillText("a\u0000<b>", 10, 20);
    expect(pen.shapes).toEqual([
      {
        name: "text",
        attributes: {
          x: 10,
          y: 23.85,
          fill: "#123456",
          "font-size": 11,
          "font-family": 'ui-monospace, "SF Mono"',
          "font-weight": "600",
          "text-anchor": "end",
        },
        text: "a\uFFFD<b>",
      },
    ]);
  });
  it("draws curves as paths, as strong as they are", () => {
    const pen = newPen();
    pen.globalAlpha = 0.5;
    pen.lineWidth = 2;
    pen.strokeStyle = "blue";
    pen.beginPath();
    pen.moveTo(0, 1);
    pen.bezierCurveTo(1, 2, 3, 4, 5.12345, 6);
    pen.stroke();
    expect(pen.shapes[0]).toEqual({
      name: "path",
      attributes: { d: "M0 1C1 2 3 4 5.123 6", fill: "none", stroke: "blue", "stroke-width": 2, opacity: 0.5 },
    });
  });
  it("clips to a rectangle until the state is restored, and moves what follows", () => {
    const pen = newPen();
    pen.save();
    pen.beginPath();
    pen.rect(2, 3, 10, 20);
    pen.clip();
    pen.fillRect(0, 0, 50, 50);
    pen.restore();
    pen.translate(5, 6);
    pen.rotate(-Math.PI / 2);
    pen.fillRect(1, 2, 3, 4);
    const [clipped, moved] = pen.shapes;
    expect(clipped.name).toBe("svg");
    expect(clipped.attributes).toMatchObject({ viewBox: "2 3 10 20", overflow: "hidden" });
    expect(clipped.children).toHaveLength(1);
    expect(moved.attributes.transform).toBe("matrix(0 -1 1 0 5 6)");
  });
  it("draws nothing where nothing is visible", () => {
    const pen = newPen();
    pen.fillStyle = "transparent";
    pen.fillRect(0, 0, 5, 5);
    pen.beginPath();
    pen.stroke();
    pen.fillText("", 1, 1);
    expect(pen.shapes).toEqual([]);
  });
  it("cuts parts out of pictures", () => {
    const pen = newPen();
    const source = { width: 64, height: 32 } as HTMLCanvasElement;
    pen.drawImage(source, 1, 2, 30, 40);
    pen.drawImage(source, 8, 0, 8, 8, 1, 2, 30, 40);
    expect(pen.shapes.map(({ attributes }) => attributes.from)).toEqual([0, 8]);
    expect(pen.shapes[1].attributes).toMatchObject({ x: 1, y: 2, width: 30, height: 40 });
  });
});

describe("cells", () => {
  const pixels = (...colors: number[][]) => new Uint8ClampedArray(colors.flat());
  const [white, blue, clear] = [
    [255, 255, 255, 255],
    [8, 48, 107, 255],
    [0, 0, 0, 0],
  ];
  it("become one rectangle for the ground and one per run of another color", () => {
    const { children } = cellShapes(pixels(white, blue, blue, white, white, blue), 3, 2, box(10, 20, 30, 20));
    expect(children!.map(({ attributes }) => attributes)).toEqual([
      { x: 10, y: 20, width: 30, height: 20, fill: "#ffffff" },
      { x: 20, y: 20, width: 20, height: 10, fill: "#08306b" },
      { x: 30, y: 30, width: 10, height: 10, fill: "#08306b" },
    ]);
  });
  it("have no ground where some are transparent", () => {
    const { children } = cellShapes(pixels(blue, clear, blue, blue), 2, 2, box(0, 0, 2, 2));
    expect(children!.map(({ attributes }) => [attributes.x, attributes.y, attributes.width])).toEqual([
      [0, 0, 1],
      [0, 1, 2],
    ]);
  });
});

const box = (x: number, y: number, width: number, height: number): Box => ({ x, y, width, height });

it("captions are wrapped, and a word that is too long is cut", () => {
  const measure = (text: string) => text.length;
  expect(wrapped("one two three", 7, measure)).toEqual(["one two", "three"]);
  expect(wrapped("a-very-long-name x", 6, measure)).toEqual(["a-ver…", "x"]);
  expect(wrapped("", 6, measure)).toEqual([]);
});

it("text of a file has only characters that XML allows", () => {
  expect(xmlText("a\u0008b\uD800c")).toBe("a\uFFFDb\uFFFDc");
  expect(xmlText("ok\t😀é")).toBe("ok\t😀é");
});

it("pictures have three pixels per pixel of the screen, unless they would be too large", () => {
  expect(pngScale(800, 600)).toBe(3);
  expect(pngScale(8000, 100)).toBe(2);
  expect(8000 * 6000 * pngScale(8000, 6000) ** 2).toBeLessThanOrEqual(1.0001e8);
});
