// Points on one canvas: any number of panels, each a viewport over a part of one buffer (browsers allow only some
// sixteen WebGL contexts a page). What changes shows at once as a sample that fits a frame; when all is still, finer
// pictures are made behind it and replace it, until every point is drawn.
import { Budget, finer, FRAME, Pass, strokes, type Stroke } from "./budget";
import { WHOLE, type Camera } from "./camera";
import { GpuFence } from "./fence";
import { layered, packed, standingFor, styleFor } from "./style";
import { alike, arranged, gatherKeys, gatherPairs, members, type Arrangement, type Group } from "./order";
import { Surface, type Box } from "./surface";

export interface Scene {
  positions: Uint16Array; // pairs of coordinates, see lib/encoding
  keys: Uint8Array | Uint16Array; // a point's entry of the table; keys beyond its end take the last entry
  lut: Uint8Array; // the table: red, green, blue, opacity
  marks: Uint8Array | null; // the mark of each entry of the table; null: all discs
  state: Uint8Array | null; // of each point: NORMAL, DIMMED, SELECTED or HIDDEN; null: all normal
  faded: readonly [number, number, number]; // the colour, from 0 to 255, towards which dimmed points fade
  groups: readonly Group[]; // which points each panel shows
  boxes: readonly Box[]; // where each panel lies
  cameras: readonly Camera[]; // of each panel; a single one holds for all
}

const STILL = 120; // milliseconds without a movement after which finer pictures are made
const ALL = { lists: true, places: true, keys: true, table: true };
const NONE = { lists: false, places: false, keys: false, table: false };

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
  private stale = { ...ALL }; // what the graphics card does not have yet
  private lists: Uint32Array[] = [];
  private arrangement: Arrangement = { order: new Uint32Array(0), runs: [] };
  private orderedBy: Pick<Scene, "positions" | "state"> = this.scene; // what the arrangement was made from
  private inPanel: number[] = []; // points of each panel
  private ratio = 1; // screen pixels for each pixel of the page
  private readonly refining = new Budget(); // behind the screen
  private readonly sampling = new Budget(FRAME, () => this.refining.count / 2); // straight to the screen
  private readonly fence = new GpuFence();
  private pass: Pass | null = null; // the finer picture in the making
  private shown = 0; // points of the picture on screen
  private wanted = false; // whether a new picture is
  private reachedBy = { first: false, complete: false }; // what these data came to so far
  private moved = -Infinity; // when a camera last did
  private frame = 0;
  private timer = 0;
  private readonly stop = new AbortController();

  /** Fails with `Unavailable` where there is no WebGL2. */
  constructor(private readonly canvas: HTMLCanvasElement) {
    this.surface = new Surface(canvas);
    const { signal } = this.stop;
    canvas.addEventListener("webglcontextlost", (event) => (event.preventDefault(), this.rest()), { signal });
    canvas.addEventListener("webglcontextrestored", () => this.restore(), { signal });
  }

  /** Change what is shown. Arrays are compared by identity: a changed array must be a new one. */
  show(change: Partial<Scene>) {
    const old = this.scene;
    const next = (this.scene = { ...old, ...change });
    const differs = (...names: (keyof Scene)[]) => names.some((name) => old[name] !== next[name]);
    if (differs("positions")) this.reachedBy = { first: false, complete: false };
    if (differs("cameras", "boxes")) this.moved = performance.now();
    if (differs("groups") || old.positions.length !== next.positions.length) this.stale.lists = true;
    if (differs("positions", "groups", "state")) this.stale.places = true;
    if (differs("keys")) this.stale.keys = true;
    if (differs("lut", "marks")) this.stale.table = true;
    this.invalidate();
  }

  /** The size of the canvas in pixels of the screen. It is drawn in the same moment: nothing blinks. */
  resize(width: number, height: number, ratio: number) {
    this.ratio = ratio;
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.invalidate();
    this.sample();
  }

  /** A copy of the picture with every point. */
  snapshot(): HTMLCanvasElement {
    this.upload();
    this.surface.begin(false);
    this.shown = new Pass(strokes(this.arrangement.runs, Infinity)).advance(Infinity, this.draw);
    const copy = document.createElement("canvas");
    copy.width = this.canvas.width;
    copy.height = this.canvas.height;
    if (copy.width && copy.height) copy.getContext("2d")?.drawImage(this.canvas, 0, 0);
    return copy;
  }

  destroy() {
    this.stop.abort();
    this.rest();
    this.surface.gl.getExtension("WEBGL_lose_context")?.loseContext(); // gives its memory back at once
  }

  private invalidate() {
    this.wanted = true;
    this.pass = null;
    this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.step()));
  }

  private rest() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = this.timer = 0;
    this.fence.drop();
  }

  private restore() {
    this.surface = new Surface(this.canvas);
    this.stale = { ...ALL };
    this.invalidate();
  }

  /** The next thing to do, unless the graphics card is still at the last. */
  private step() {
    if (this.fence.busy || this.surface.gl.isContextLost()) return;
    if (this.wanted) return this.sample();
    const total = this.arrangement.order.length;
    if (this.shown >= total) return;
    const wait = this.moved + STILL - performance.now();
    clearTimeout(this.timer);
    if (wait > 0) this.timer = window.setTimeout(() => this.step(), wait);
    else this.refine(total);
  }

  /** What fits a frame, straight to the screen. */
  private sample() {
    const { canvas, scene, surface } = this;
    if (canvas.width === 0 || canvas.height === 0 || scene.boxes.length === 0 || surface.gl.isContextLost()) return;
    this.wanted = false;
    this.upload();
    this.surface.begin(false);
    const pass = new Pass(strokes(this.arrangement.runs, this.sampling.count));
    const drawn = pass.advance(Infinity, this.draw);
    const total = this.arrangement.order.length;
    this.shown = drawn;
    this.fence.after(this.surface.gl, (milliseconds) => {
      this.sampling.learn(drawn, milliseconds);
      this.reached("first", scene);
      if (drawn >= total) this.reached("complete", scene);
      this.goOn();
    });
  }

  /** Some more of a finer picture, behind the screen; a finished one is shown. */
  private refine(total: number) {
    const { scene } = this;
    const started = this.pass === null;
    this.pass ??= new Pass(strokes(this.arrangement.runs, finer(this.shown, total)));
    if (started) this.surface.begin(true);
    else this.surface.aim(true);
    const drawn = this.pass.advance(this.refining.count, this.draw);
    const finished = this.pass.done ? this.pass : null;
    if (finished) {
      this.surface.present();
      this.shown = finished.total;
      this.pass = null;
    }
    this.fence.after(this.surface.gl, (milliseconds) => {
      this.refining.learn(drawn, milliseconds);
      if (finished && finished.total >= total) this.reached("complete", scene);
      this.goOn();
    });
  }

  /** Leaves a mark for measurements, once for each set of positions. */
  private reached(what: "first" | "complete", { positions }: Scene) {
    if (this.reachedBy[what] || positions.length === 0 || positions !== this.scene.positions) return;
    performance.mark(`points:${what}`);
    this.reachedBy[what] = true;
  }

  private goOn() {
    if (this.wanted) this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.step()));
    else this.step();
  }

  private readonly draw = (stroke: Stroke, first: number, count: number) => {
    const { boxes, cameras, faded } = this.scene;
    const box = boxes[stroke.panel];
    const camera = cameras[stroke.panel] ?? cameras[0];
    if (!box || box.width < 1 || box.height < 1) return;
    // The fewer points a layer has, the more room each may take, yet not as if it were alone.
    const own = Math.sqrt(this.inPanel[stroke.panel] * stroke.whole);
    const style = layered(styleFor(own, camera[2] * Math.min(box.width, box.height)), stroke.layer);
    const sample = standingFor(style, stroke.fraction);
    this.surface.draw(box, camera, sample, stroke.layer === 0 ? faded : null, this.ratio, first, count);
  };

  /** Bring what has changed to the graphics card. */
  private upload() {
    const { positions, keys, lut, marks, state, groups } = this.scene;
    const { stale, surface } = this;
    this.stale = { ...NONE };
    const total = positions.length >> 1;
    if (keys.length < total) throw new RangeError(`There are ${total} points but only ${keys.length} colour keys.`);
    if (stale.lists) this.lists = groups.map((group) => members(group, total));
    // the same points at other places keep their order
    const reorder =
      stale.lists || (stale.places && (state !== this.orderedBy.state || !alike(positions, this.orderedBy.positions)));
    if (reorder) {
      this.arrangement = arranged(this.lists, positions, state);
      this.orderedBy = { positions, state };
      this.inPanel = this.lists.map(() => 0);
      for (const run of this.arrangement.runs) this.inPanel[run.panel] += run.count;
    }
    if (reorder || stale.places) surface.uploadPlaces(gatherPairs(positions, this.arrangement.order));
    if (reorder || stale.keys) surface.uploadKeys(gatherKeys(keys, this.arrangement.order));
    if (stale.table) surface.uploadTable(packed(lut, marks), Math.max(1, lut.length >> 2));
  }
}
