// Saving figures and tables as files. An exported figure says what it shows: its title, its legend, the model, the dataset
// and the state of the page in words.
import { get } from "./api";
import { captionOf } from "./caption";
import { asCsv, type Table } from "./csv";
import { asSvg, type LegendEntry } from "./drawing";
import { pngScale } from "./shapes";

export * from "./csv";
export type { LegendEntry };

export interface FigureFile {
  name: string; // of the file
  title: string;
  note?: string;
  legend?: LegendEntry[];
}

function download(content: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const serialize = (svg: SVGSVGElement) => new XMLSerializer().serializeToString(svg);

async function figureSvg(element: Element, { title, note, legend = [] }: FigureFile): Promise<SVGSVGElement> {
  const atlas = await get.atlas();
  return asSvg(element, { title, caption: captionOf(atlas, note), legend });
}

export async function saveSvg(element: Element, figure: FigureFile) {
  const svg = await figureSvg(element, figure);
  download(new Blob([serialize(svg)], { type: "image/svg+xml" }), `${figure.name}.svg`);
}

export async function savePng(element: Element, figure: FigureFile) {
  const svg = await figureSvg(element, figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serialize(svg))}`;
  await image.decode();
  const [width, height] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  const scale = pngScale(width, height);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const context = canvas.getContext("2d")!;
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) download(blob, `${figure.name}.png`);
}

export function saveCsv(table: Table, name: string) {
  download(new Blob([asCsv(table)], { type: "text/csv" }), `${name}.csv`);
}
