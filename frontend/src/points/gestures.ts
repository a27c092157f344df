// What hands do on the canvas, as a few plain events: drag, wheel, pinch, click, keys.

export interface Handlers {
  /** Whether a drag draws a line instead of moving the picture (always so while Shift is held). */
  lassoing(): boolean;
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
  reset(): void;
  /** The line drawn so far, in pixels; `done` when the pointer is lifted. Null: given up. */
  draw(line: [number, number][] | null, done: boolean): void;
  hover(x: number, y: number): void;
  leave(): void;
  select(x: number, y: number): void;
  /** Of the point under the pointer; of the highlighted one when it comes from the keyboard. */
  open(at: [number, number] | null): void;
  /** Returns whether there was something to clear. */
  clear(): boolean;
  toggleLasso(): void;
}

const SLIP = 4; // pixels a pointer may move in a click
const GRAIN = 3; // pixels between two places of a drawn line
const SETTLE = 45; // milliseconds in which most of a zoom is done: smooth, yet not to be waited for
const STEP = 1.5; // zoom of a key
const PAN: Record<string, [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

type Place = [x: number, y: number];

/** Listens on the canvas until the returned function is called. */
export function gestures(canvas: HTMLElement, handlers: Handlers): () => void {
  const stop = new AbortController();
  const zoom = smoothZoom(handlers);
  const on = <K extends keyof HTMLElementEventMap>(name: K, run: (event: HTMLElementEventMap[K]) => void) =>
    canvas.addEventListener(name, run, { signal: stop.signal, passive: false });
  const place = (event: MouseEvent): Place => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const middle = (): Place => [canvas.clientWidth / 2, canvas.clientHeight / 2];

  on("wheel", (event) => {
    event.preventDefault();
    // lines and pages are turned into pixels; a pinch on a touchpad comes as a wheel with Ctrl and small steps
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    const bounded = Math.max(-240, Math.min(240, pixels));
    zoom.by(Math.exp(-bounded * (event.ctrlKey ? 0.01 : 0.0022)), ...place(event), true);
  });
  on("dblclick", (event) => handlers.open(place(event)));
  on("keydown", (event) => key(event, canvas, handlers, (factor) => zoom.by(factor, ...middle(), false)));
  pointers(on, place, canvas, handlers);
  return () => {
    zoom.stop();
    stop.abort();
  };
}

/** A zoom asked for is spread over some frames, always around the same pixel. */
function smoothZoom(handlers: Handlers) {
  let left = 0; // logarithm of the factor still to come
  let at: Place = [0, 0];
  let pointed = false; // whether the pointer is there
  let frame = 0;
  let last = 0;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const step = (now: number) => {
    const share = still.matches || Math.abs(left) < 0.004 ? 1 : 1 - Math.exp(-Math.max(8, now - last) / SETTLE);
    last = now;
    handlers.zoom(Math.exp(left * share), ...at);
    if (pointed)
      handlers.hover(...at); // another point may be there now
    else handlers.leave();
    left *= 1 - share;
    frame = left === 0 ? 0 : requestAnimationFrame(step);
  };
  return {
    by(factor: number, x: number, y: number, byPointer: boolean) {
      left += Math.log(factor);
      at = [x, y];
      pointed = byPointer;
      if (frame) return;
      last = performance.now();
      frame = requestAnimationFrame(step);
    },
    stop: () => cancelAnimationFrame(frame),
  };
}

function key(event: KeyboardEvent, canvas: HTMLElement, handlers: Handlers, zoom: (factor: number) => void) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const pan = PAN[event.key];
  const amount = event.shiftKey ? 0.02 : 0.1; // of the canvas
  if (pan) {
    handlers.pan(pan[0] * amount * canvas.clientWidth, pan[1] * amount * canvas.clientHeight);
    handlers.leave();
  } else if (event.key === "+" || event.key === "=") zoom(STEP);
  else if (event.key === "-" || event.key === "_") zoom(1 / STEP);
  else if (event.key === "0") handlers.reset();
  else if (event.key === "l") handlers.toggleLasso();
  else if (event.key === "Enter") handlers.open(null);
  else if (event.key !== "Escape" || !handlers.clear()) return; // the page may use it
  event.preventDefault();
  event.stopPropagation();
}

type On = <K extends keyof HTMLElementEventMap>(name: K, run: (event: HTMLElementEventMap[K]) => void) => void;

/** One pointer drags, draws or clicks; two move and zoom. */
function pointers(on: On, place: (event: MouseEvent) => Place, canvas: HTMLElement, handlers: Handlers) {
  const down = new Map<number, Place>();
  let start: Place = [0, 0];
  let what: "click" | "pan" | "draw" | "pinch" | null = null;
  let line: Place[] = [];

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    if (down.size === 1) {
      start = place(event);
      what = event.shiftKey || handlers.lassoing() ? "draw" : "click";
      line = [start];
      if (what === "draw") handlers.leave();
    } else {
      if (what === "draw") handlers.draw(null, true);
      what = "pinch";
    }
  });
  on("pointermove", (event) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) return handlers.hover(...now);
    if (what === "pinch") return pinch(down, event.pointerId, now, handlers);
    if (what === "click" && Math.hypot(now[0] - start[0], now[1] - start[1]) > SLIP) {
      what = "pan";
      handlers.leave();
    }
    if (what === "click") return;
    down.set(event.pointerId, now);
    if (what === "pan") handlers.pan(now[0] - before[0], now[1] - before[1]);
    const end = line[line.length - 1];
    if (what !== "draw" || Math.hypot(now[0] - end[0], now[1] - end[1]) < GRAIN) return;
    line = [...line, now];
    handlers.draw(line, false);
  });
  const lift = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    const ended = what;
    if (down.size > 0) return; // after a pinch the other finger does nothing until it is lifted too
    what = null;
    if (ended === "draw" && event.type === "pointerup") handlers.draw(line, true);
    else if (ended === "draw") handlers.draw(null, true);
    else if (ended === "click" && event.type === "pointerup") handlers.select(...start);
  };
  on("pointerup", lift);
  on("pointercancel", lift);
  on("pointerleave", (event) => {
    if (!down.has(event.pointerId)) handlers.leave();
  });
}

function pinch(down: Map<number, Place>, id: number, now: Place, handlers: Handlers) {
  const other = [...down].find(([one]) => one !== id)?.[1];
  const before = down.get(id)!;
  down.set(id, now);
  if (!other) return;
  const apart = (a: Place, b: Place) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
  handlers.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  handlers.zoom(apart(now, other) / apart(before, other), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}
