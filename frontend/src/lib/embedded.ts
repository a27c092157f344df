// What a page that is a single file holds: responses of the API, written into it by headatlas.web.single. Such a page
// opens from disk, or in a frame of a notebook, and asks no server.
import type { TabId } from "../tabs";

export const BLOCK = "headatlas-embedded"; // id of the element that holds it, as JSON

export interface Embedded {
  address: string; // the view to open
  holds: string; // in words, such as "text 3 of demo.atlas"
  next: string; // what to do to see the rest
  tabs: TabId[] | null; // to show; null: all
  live: boolean; // requests go to the page around the frame, which has a kernel to answer them
  files: Record<string, string>; // responses by address: deflated, as base64
  rounded: string[]; // those of u16 values of which only the high 8 bits are kept
}

const block = typeof document === "undefined" ? null : document.getElementById(BLOCK);

/** What this page holds; null if there is a server. */
export const embedded = block && (JSON.parse(block.textContent) as Embedded);

/** The bytes of a response. */
export async function unpack(packed: string, rounded: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const deflated = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return rounded ? widened(bytes) : bytes;
}

/** u16 values from their high bytes: 0 and 255 stay the ends of the range. */
export const widened = (bytes: Uint8Array) => new Uint8Array(Uint16Array.from(bytes, (byte) => byte * 257).buffer);

/** The response at an address; one with status 404, in the shape of the server's errors, if it is not in the file. */
export async function respond({ files, rounded, holds, next }: Embedded, path: string): Promise<Response> {
  if (Object.hasOwn(files, path)) return new Response(await unpack(files[path], rounded.includes(path)));
  const error = { status: 404, message: `This page holds ${holds} only, not what would be shown here.`, next };
  return new Response(JSON.stringify({ error }), { status: 404 });
}
