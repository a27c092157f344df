// Pointer, wheel and keyboard input on a canvas, translated to a few actions.

export interface Handlers {
  /** Whether dragging draws a lasso instead of panning. With Shift it always does. */
  lassoing(): boolean;
  pan(dx: number, dy: number): void;
  zoom(factor: number, x: number, y: number): void;
  reset(): void;
  zoomToSelection(): void;
  /** The lasso drawn so far, in pixels; `done` when the pointer is released. Null: canceled. */
  draw(line: [number, number][] | null, done: boolean): void;
  hover(x: number, y: number): void;
  leave(): void;
  select(x: number, y: number): void;
  /** Open the point at a pixel, or the highlighted point (null). */
  open(pixel: [number, number] | null): void;
  /** Clear the lasso; returns whether there was one. */
  clear(): boolean;
  toggleLasso(): void;
}

const CLICK_RADIUS = 4; // pixels that the pointer may move during a click
const LINE_STEP = 3; // pixels between the points of a lasso
const ZOOM_TIME = 45; // time constant of smooth zooming, in milliseconds
const KEY_ZOOM = 1.5; // factor per key press
const PAN: Record<string, [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

type Pixel = [x: number, y: number];

/** Listen on the canvas until the returned function is called. */
export function gestures(canvas: HTMLElement, handlers: Handlers): () => void {
  const controller = new AbortController();
  const zoom = smoothZoom(handlers);
  const on = <K extends keyof HTMLElementEventMap>(name: K, run: (event: HTMLElementEventMap[K]) => void) =>
    canvas.addEventListener(name, run, { signal: controller.signal, passive: false });
  const pixelOf = (event: MouseEvent): Pixel => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const center = (): Pixel => [canvas.clientWidth / 2, canvas.clientHeight / 2];

  on("wheel", (event) => {
    event.preventDefault();
    // lines and pages are converted to pixels; a pinch on a touchpad is a wheel event with Ctrl and small steps
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    const limited = Math.max(-240, Math.min(240, pixels));
    zoom.by(Math.exp(-limited * (event.ctrlKey ? 0.01 : 0.0022)), ...pixelOf(event), true);
  });
  on("dblclick", (event) => handlers.open(pixelOf(event)));
  on("keydown", (event) => handleKey(event, canvas, handlers, (factor) => zoom.by(factor, ...center(), false)));
  handlePointers(on, pixelOf, canvas, handlers);
  return () => {
    zoom.stop();
    controller.abort();
  };
}

/** Spreads a zoom over some frames, around a fixed pixel. */
function smoothZoom(handlers: Handlers) {
  let remaining = 0; // logarithm of the factor
  let center: Pixel = [0, 0];
  let pointerThere = false; // whether the pointer is at the center
  let frame = 0;
  let last = 0;
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const step = (now: number) => {
    const share =
      reducedMotion.matches || Math.abs(remaining) < 0.004 ? 1 : 1 - Math.exp(-Math.max(8, now - last) / ZOOM_TIME);
    last = now;
    handlers.zoom(Math.exp(remaining * share), ...center);
    if (pointerThere)
      handlers.hover(...center); // the point there may have changed
    else handlers.leave();
    remaining *= 1 - share;
    frame = remaining === 0 ? 0 : requestAnimationFrame(step);
  };
  return {
    by(factor: number, x: number, y: number, byPointer: boolean) {
      remaining += Math.log(factor);
      center = [x, y];
      pointerThere = byPointer;
      if (frame) return;
      last = performance.now();
      frame = requestAnimationFrame(step);
    },
    stop: () => cancelAnimationFrame(frame),
  };
}

function handleKey(event: KeyboardEvent, canvas: HTMLElement, handlers: Handlers, zoom: (factor: number) => void) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const pan = PAN[event.key];
  const step = event.shiftKey ? 0.02 : 0.1; // share of the canvas
  if (pan) {
    handlers.pan(pan[0] * step * canvas.clientWidth, pan[1] * step * canvas.clientHeight);
    handlers.leave();
  } else if (event.key === "+" || event.key === "=") zoom(KEY_ZOOM);
  else if (event.key === "-" || event.key === "_") zoom(1 / KEY_ZOOM);
  else if (event.key === "0") handlers.reset();
  else if (event.key === "z") handlers.zoomToSelection();
  else if (event.key === "l") handlers.toggleLasso();
  else if (event.key === "Enter") handlers.open(null);
  else if (event.key !== "Escape" || !handlers.clear()) return; // Esc is left to the page if there is nothing to clear
  event.preventDefault();
  event.stopPropagation();
}

type On = <K extends keyof HTMLElementEventMap>(name: K, run: (event: HTMLElementEventMap[K]) => void) => void;

/** One pointer pans, draws or clicks; two pan and zoom. */
function handlePointers(on: On, pixelOf: (event: MouseEvent) => Pixel, canvas: HTMLElement, handlers: Handlers) {
  const down = new Map<number, Pixel>();
  let start: Pixel = [0, 0];
  let action: "click" | "pan" | "draw" | "pinch" | null = null;
  let line: Pixel[] = [];

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, pixelOf(event));
    if (down.size === 1) {
      start = pixelOf(event);
      action = event.shiftKey || handlers.lassoing() ? "draw" : "click";
      line = [start];
      if (action === "draw") handlers.leave();
    } else {
      if (action === "draw") handlers.draw(null, true);
      action = "pinch";
    }
  });
  on("pointermove", (event) => {
    const now = pixelOf(event);
    const before = down.get(event.pointerId);
    if (!before) return handlers.hover(...now);
    if (action === "pinch") return pinch(down, event.pointerId, now, handlers);
    if (action === "click" && Math.hypot(now[0] - start[0], now[1] - start[1]) > CLICK_RADIUS) {
      action = "pan";
      handlers.leave();
    }
    if (action === "click") return;
    down.set(event.pointerId, now);
    if (action === "pan") handlers.pan(now[0] - before[0], now[1] - before[1]);
    const end = line[line.length - 1];
    if (action !== "draw" || Math.hypot(now[0] - end[0], now[1] - end[1]) < LINE_STEP) return;
    line = [...line, now];
    handlers.draw(line, false);
  });
  const release = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    const ended = action;
    if (down.size > 0) return; // after a pinch the other finger is ignored until it is released
    action = null;
    if (ended === "draw" && event.type === "pointerup") handlers.draw(line, true);
    else if (ended === "draw") handlers.draw(null, true);
    else if (ended === "click" && event.type === "pointerup") handlers.select(...start);
  };
  on("pointerup", release);
  on("pointercancel", release);
  on("pointerleave", (event) => {
    if (!down.has(event.pointerId)) handlers.leave();
  });
}

function pinch(down: Map<number, Pixel>, id: number, now: Pixel, handlers: Handlers) {
  const other = [...down].find(([otherId]) => otherId !== id)?.[1];
  const before = down.get(id)!;
  down.set(id, now);
  if (!other) return;
  const distance = (a: Pixel, b: Pixel) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
  handlers.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  handlers.zoom(distance(now, other) / distance(before, other), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}
