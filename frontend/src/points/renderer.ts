// Draws points on one canvas with any number of panels, because browsers allow only about 16 WebGL contexts per page. Each
// panel is a viewport over a part of one vertex buffer. A change is drawn at once as a sample that fits a frame; then
// larger samples are drawn off screen and replace it, until all points are shown.
import { Budget, FRAME, nextSampleSize, Pass, sampleBatches, type Batch } from "./budget";
import { WHOLE, type Camera } from "./camera";
import { GpuFence } from "./fence";
import { drawingOrder, gatherKeys, gatherPairs, members, samePlaced, type DrawingOrder, type Group } from "./order";
import { layerStyle, packed, sampleStyle, styleFor } from "./style";
import { Surface, type Box } from "./surface";

export interface Scene {
  positions: Uint16Array; // pairs of coordinates, see lib/encoding
  keys: Uint8Array | Uint16Array; // each point's entry of the color table; keys beyond its end use the last entry
  lut: Uint8Array; // the color table: red, green, blue, opacity
  marks: Uint8Array | null; // mark of each entry; null: all discs
  state: Uint8Array | null; // of each point, see style.ts; null: all NORMAL
  faded: readonly [number, number, number]; // color of dimmed points, 0 to 255
  groups: readonly Group[]; // points of each panel
  boxes: readonly Box[]; // position of each panel
  cameras: readonly Camera[]; // of each panel; or one for all
}

const EXPORTED = 3; // device pixels per CSS pixel in exported files
const LARGEST = 8192; // device pixels that every WebGL2 canvas supports
const IDLE = 120; // milliseconds without movement before larger samples are drawn
const ALL_STALE = { lists: true, positions: true, keys: true, table: true };
const NONE_STALE = { lists: false, positions: false, keys: false, table: false };

export class PointRenderer {
  private surface: Surface;
  private scene: Scene = {
    positions: new Uint16Array(0),
    keys: new Uint8Array(0),
    lut: new Uint8Array(4),
    marks: null,
    state: null,
    faded: [180, 186, 196],
    groups: [null],
    boxes: [],
    cameras: [WHOLE],
  };
  private stale = { ...ALL_STALE }; // what has to be uploaded to the GPU
  private lists: Uint32Array[] = [];
  private order: DrawingOrder = { points: new Uint32Array(0), runs: [] };
  private orderedFor: Pick<Scene, "positions" | "state"> = this.scene; // what the order was computed from
  private panelSizes: number[] = []; // points of each panel
  private ratio = 1; // device pixels per CSS pixel
  private readonly refineBudget = new Budget(); // off screen
  private readonly sampleBudget = new Budget(FRAME, () => this.refineBudget.count / 2); // on screen
  private readonly fence = new GpuFence();
  private pass: Pass | null = null; // the larger sample that is being drawn off screen
  private shown = 0; // points on the screen
  private dirty = false; // whether the scene has changed since it was drawn
  private marked = { first: false, complete: false }; // performance marks set for these positions
  private moved = -Infinity; // time of the last camera movement
  private frame = 0;
  private timer = 0;
  private readonly controller = new AbortController();

  /** Throws `Unavailable` if there is no WebGL2. */
  constructor(private readonly canvas: HTMLCanvasElement) {
    this.surface = new Surface(canvas);
    const { signal } = this.controller;
    canvas.addEventListener("webglcontextlost", (event) => (event.preventDefault(), this.pause()), { signal });
    canvas.addEventListener("webglcontextrestored", () => this.restore(), { signal });
  }

  /** Change the scene. Arrays are compared by identity, so a changed array must be a new one. */
  show(change: Partial<Scene>) {
    const old = this.scene;
    const next = (this.scene = { ...old, ...change });
    const differs = (...names: (keyof Scene)[]) => names.some((name) => old[name] !== next[name]);
    if (differs("positions")) this.marked = { first: false, complete: false };
    if (differs("cameras", "boxes")) this.moved = performance.now();
    if (differs("groups") || old.positions.length !== next.positions.length) this.stale.lists = true;
    if (differs("positions", "groups", "state")) this.stale.positions = true;
    if (differs("keys")) this.stale.keys = true;
    if (differs("lut", "marks")) this.stale.table = true;
    this.invalidate();
  }

  /** Resize the canvas, in device pixels. Draws immediately to avoid flicker. */
  resize(width: number, height: number, ratio: number) {
    this.ratio = ratio;
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.invalidate();
    this.sample();
  }

  /** All points on a copy of the canvas in the resolution of exported files; then resize it back. */
  enlarged(width: number, height: number): HTMLCanvasElement {
    const ratio = Math.min(EXPORTED, LARGEST / Math.max(width, height));
    this.resize(Math.round(ratio * width), Math.round(ratio * height), ratio);
    return this.snapshot();
  }

  /** A copy of the canvas with all points drawn. */
  private snapshot(): HTMLCanvasElement {
    this.upload();
    this.surface.begin(false);
    this.shown = new Pass(sampleBatches(this.order.runs, Infinity)).advance(Infinity, this.draw);
    const copy = document.createElement("canvas");
    copy.width = this.canvas.width;
    copy.height = this.canvas.height;
    if (copy.width && copy.height) copy.getContext("2d")?.drawImage(this.canvas, 0, 0);
    return copy;
  }

  destroy() {
    this.controller.abort();
    this.pause();
    this.surface.gl.getExtension("WEBGL_lose_context")?.loseContext(); // frees its memory immediately
  }

  private invalidate() {
    this.dirty = true;
    this.pass = null;
    this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.step()));
  }

  private pause() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = this.timer = 0;
    this.fence.cancel();
  }

  private restore() {
    this.surface = new Surface(this.canvas);
    this.stale = { ...ALL_STALE };
    this.invalidate();
  }

  /** The next drawing step, unless the GPU is still busy. */
  private step() {
    if (this.fence.busy || this.surface.gl.isContextLost()) return;
    if (this.dirty) return this.sample();
    const total = this.order.points.length;
    if (this.shown >= total) return;
    const wait = this.moved + IDLE - performance.now();
    clearTimeout(this.timer);
    if (wait > 0) this.timer = window.setTimeout(() => this.step(), wait);
    else this.refine(total);
  }

  /** Draw a sample that fits a frame on screen. */
  private sample() {
    const { canvas, scene, surface } = this;
    if (canvas.width === 0 || canvas.height === 0 || scene.boxes.length === 0 || surface.gl.isContextLost()) return;
    this.dirty = false;
    this.upload();
    this.surface.begin(false);
    const pass = new Pass(sampleBatches(this.order.runs, this.sampleBudget.count));
    const drawn = pass.advance(Infinity, this.draw);
    const total = this.order.points.length;
    this.shown = drawn;
    this.fence.after(this.surface.gl, (milliseconds) => {
      this.sampleBudget.update(drawn, milliseconds);
      this.mark("first", scene);
      if (drawn >= total) this.mark("complete", scene);
      this.continue();
    });
  }

  /** Draw more of a larger sample off screen, and show it when it is complete. */
  private refine(total: number) {
    const { scene } = this;
    const isNew = this.pass === null;
    this.pass ??= new Pass(sampleBatches(this.order.runs, nextSampleSize(this.shown, total)));
    if (isNew) this.surface.begin(true);
    else this.surface.target(true);
    const drawn = this.pass.advance(this.refineBudget.count, this.draw);
    const finished = this.pass.done ? this.pass : null;
    if (finished) {
      this.surface.present();
      this.shown = finished.total;
      this.pass = null;
    }
    this.fence.after(this.surface.gl, (milliseconds) => {
      this.refineBudget.update(drawn, milliseconds);
      if (finished && finished.total >= total) this.mark("complete", scene);
      this.continue();
    });
  }

  /** Set a performance mark, once per array of positions. */
  private mark(name: "first" | "complete", { positions }: Scene) {
    if (this.marked[name] || positions.length === 0 || positions !== this.scene.positions) return;
    performance.mark(`points:${name}`);
    this.marked[name] = true;
  }

  private continue() {
    if (this.dirty) this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.step()));
    else this.step();
  }

  private readonly draw = (batch: Batch, first: number, count: number) => {
    const { boxes, cameras, faded } = this.scene;
    const box = boxes[batch.panel];
    const camera = cameras[batch.panel] ?? cameras[0];
    if (!box || box.width < 1 || box.height < 1) return;
    // A layer with few points has larger ones, but not as large as if it were the only layer.
    const effectiveCount = Math.sqrt(this.panelSizes[batch.panel] * batch.total);
    const style = layerStyle(styleFor(effectiveCount, camera[2] * Math.min(box.width, box.height)), batch.layer);
    const sample = sampleStyle(style, batch.fraction);
    this.surface.draw(box, camera, sample, batch.layer === 0 ? faded : null, this.ratio, first, count);
  };

  /** Upload what has changed to the GPU. */
  private upload() {
    const { positions, keys, lut, marks, state, groups } = this.scene;
    const { stale, surface } = this;
    this.stale = { ...NONE_STALE };
    const total = positions.length >> 1;
    if (keys.length < total) throw new RangeError(`There are ${total} points but only ${keys.length} color keys.`);
    if (stale.lists) this.lists = groups.map((group) => members(group, total));
    // moving points does not change their order
    const reorder =
      stale.lists ||
      (stale.positions && (state !== this.orderedFor.state || !samePlaced(positions, this.orderedFor.positions)));
    if (reorder) {
      this.order = drawingOrder(this.lists, positions, state);
      this.orderedFor = { positions, state };
      this.panelSizes = this.lists.map(() => 0);
      for (const run of this.order.runs) this.panelSizes[run.panel] += run.count;
    }
    if (reorder || stale.positions) surface.uploadPositions(gatherPairs(positions, this.order.points));
    if (reorder || stale.keys) surface.uploadKeys(gatherKeys(keys, this.order.points));
    if (stale.table) surface.uploadTable(packed(lut, marks), Math.max(1, lut.length >> 2));
  }
}
