// The drawing surface: one WebGL2 context with its program, buffers and two pictures, the one on screen and one behind
// it, where a finer picture is made without being seen.
import { scaleOf, type Camera, type Size } from "./camera";
import { TABLE_WIDTH, type Style } from "./style";
import { FRAGMENT, VERTEX } from "./shaders";

/** A rectangle of the canvas, in pixels of the page from the upper left corner. */
export interface Box extends Size {
  x: number;
  y: number;
}

type Rgb = readonly [red: number, green: number, blue: number];

/** This browser or machine has no WebGL2. */
export class Unavailable extends Error {}

const UNIFORMS = ["entries", "centre", "scale", "size", "alpha", "faded"] as const;

export class Surface {
  readonly gl: WebGL2RenderingContext;
  private readonly at: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly places: WebGLBuffer;
  private readonly keys: WebGLBuffer;
  private readonly back: WebGLFramebuffer;
  private readonly picture: WebGLRenderbuffer;
  private backSize = "";

  constructor(private readonly canvas: HTMLCanvasElement) {
    // The picture is kept after it was shown, because exports read the canvas at any time.
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, preserveDrawingBuffer: true });
    if (!gl) throw new Unavailable("This browser has no WebGL2, which the drawing of points needs.");
    this.gl = gl;
    const program = compiled(gl);
    gl.useProgram(program);
    this.at = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)])) as Surface["at"];
    this.places = this.attribute(0, 2);
    this.keys = this.attribute(1, 1);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    this.back = gl.createFramebuffer();
    this.picture = gl.createRenderbuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.SCISSOR_TEST);
  }

  private attribute(location: number, parts: number): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, parts, gl.UNSIGNED_SHORT, false, 0, 0);
    return buffer;
  }

  uploadPlaces(pairs: Uint16Array) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.places);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, pairs, this.gl.STATIC_DRAW);
  }

  uploadKeys(keys: Uint16Array) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.keys);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, keys, this.gl.STATIC_DRAW);
  }

  uploadTable(table: Uint8Array, entries: number) {
    const { gl } = this;
    const rows = table.length / (4 * TABLE_WIDTH);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, TABLE_WIDTH, rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
    gl.uniform1f(this.at.entries, entries);
  }

  /** Start an empty picture. */
  begin(behind: boolean) {
    this.aim(behind);
    this.gl.scissor(0, 0, this.canvas.width, this.canvas.height);
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  /** Draw to the picture on screen or to the one behind it. */
  aim(behind: boolean) {
    const { gl, canvas } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, behind ? this.back : null);
    const size = `${canvas.width} ${canvas.height}`;
    if (!behind || size === this.backSize) return;
    this.backSize = size;
    gl.bindRenderbuffer(gl.RENDERBUFFER, this.picture);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, canvas.width, canvas.height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.picture);
  }

  /** A run of points in a panel, in their own colours or faded towards one; `ratio` is screen pixels for each pixel of the page. */
  draw(box: Box, camera: Camera, style: Style, faded: Rgb | null, ratio: number, first: number, count: number) {
    const { gl, at, canvas } = this;
    const left = Math.round(box.x * ratio);
    const width = Math.round((box.x + box.width) * ratio) - left;
    const bottom = canvas.height - Math.round((box.y + box.height) * ratio);
    const height = canvas.height - Math.round(box.y * ratio) - bottom;
    gl.viewport(left, bottom, width, height);
    gl.scissor(left, bottom, width, height); // a point at the edge must not reach into the next panel
    const scale = scaleOf(camera, box);
    gl.uniform2f(at.centre, camera[0], camera[1]);
    gl.uniform2f(at.scale, (2 * scale) / box.width, (2 * scale) / box.height);
    gl.uniform1f(at.size, style.size * ratio);
    gl.uniform1f(at.alpha, style.alpha);
    const [red, green, blue] = faded ?? [0, 0, 0];
    gl.uniform4f(at.faded, red / 255, green / 255, blue / 255, faded ? 0.8 : 0);
    gl.drawArrays(gl.POINTS, first, count);
  }

  /** Show the picture behind. */
  present() {
    const { gl } = this;
    const { width, height } = this.canvas;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.back);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.scissor(0, 0, width, height);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }
}

function compiled(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) break; // the context was lost meanwhile: linking fails below
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Unavailable(`WebGL2 cannot draw the points here: ${gl.getProgramInfoLog(program) ?? "no reason given"}`);
  return program;
}
