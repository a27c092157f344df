// Where responses come from: a server or exported files, the page itself, or the kernel of a notebook.
import { embedded, respond, type Embedded } from "./embedded";

/** Sends a request as `fetch` does. */
export type Send = (path: string, options?: RequestInit) => Promise<Response>;

interface Answer {
  id: number;
  status: number;
  body: ArrayBuffer;
}

/** Requests as messages to the page around this frame, which answers with messages; see headatlas/web/live/widget.js. */
function throughFrame(): Send {
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  addEventListener("message", ({ source, data }: MessageEvent<{ headatlas?: Answer }>) => {
    if (source !== parent || !data?.headatlas) return;
    waiting.get(data.headatlas.id)?.(data.headatlas);
  });
  return (path, { method = "GET", body = null, signal } = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      const tell = (message: object) => parent.postMessage({ headatlas: { id, ...message } }, "*");
      const cancel = () => {
        waiting.delete(id);
        tell({ cancel: true });
        reject(signal!.reason);
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", cancel, { once: true });
      waiting.set(id, ({ status, body }) => {
        waiting.delete(id);
        signal?.removeEventListener("abort", cancel);
        resolve(new Response(body, { status }));
      });
      tell({ path, method, body });
    });
}

const fromFile =
  (page: Embedded): Send =>
  (path) =>
    respond(page, path);

export const send: Send = !embedded
  ? (path, options) => fetch(path, options)
  : embedded.live
    ? throughFrame()
    : fromFile(embedded);
