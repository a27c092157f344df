// The drawing surface: a WebGL2 context with its program, its vertex buffers and an off-screen framebuffer.
import { scaleOf, type Camera, type Size } from "./camera";
import { TABLE_WIDTH, type Style } from "./style";
import { FRAGMENT, VERTEX } from "./shaders";

/** A rectangle of the canvas, in CSS pixels from the upper left corner. */
export interface Box extends Size {
  x: number;
  y: number;
}

type Rgb = readonly [red: number, green: number, blue: number];

/** WebGL2 is not available. */
export class Unavailable extends Error {}

const UNIFORMS = ["entries", "center", "scale", "size", "alpha", "faded"] as const;

export class Surface {
  readonly gl: WebGL2RenderingContext;
  private readonly uniforms: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly positions: WebGLBuffer;
  private readonly keys: WebGLBuffer;
  private readonly offscreen: WebGLFramebuffer;
  private readonly renderbuffer: WebGLRenderbuffer;
  private offscreenSize = "";

  constructor(private readonly canvas: HTMLCanvasElement) {
    // The drawing buffer is preserved because exports may read the canvas at any time.
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, preserveDrawingBuffer: true });
    if (!gl) throw new Unavailable("This browser has no WebGL2, which is needed to draw points.");
    this.gl = gl;
    const program = compileProgram(gl);
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(
      UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]),
    ) as Surface["uniforms"];
    this.positions = this.attribute(0, 2);
    this.keys = this.attribute(1, 1);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    this.offscreen = gl.createFramebuffer();
    this.renderbuffer = gl.createRenderbuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.SCISSOR_TEST);
  }

  private attribute(location: number, components: number): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, components, gl.UNSIGNED_SHORT, false, 0, 0);
    return buffer;
  }

  uploadPositions(pairs: Uint16Array) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.positions);
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
    gl.uniform1f(this.uniforms.entries, entries);
  }

  /** Clear the canvas or the off-screen buffer, and draw there. */
  begin(offscreen: boolean) {
    this.target(offscreen);
    this.gl.scissor(0, 0, this.canvas.width, this.canvas.height);
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  /** Draw to the canvas or to the off-screen buffer. */
  target(offscreen: boolean) {
    const { gl, canvas } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, offscreen ? this.offscreen : null);
    const size = `${canvas.width} ${canvas.height}`;
    if (!offscreen || size === this.offscreenSize) return;
    this.offscreenSize = size;
    gl.bindRenderbuffer(gl.RENDERBUFFER, this.renderbuffer);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, canvas.width, canvas.height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.renderbuffer);
  }

  /** Draw a range of points in a panel, in their colors or faded. `ratio` is the number of device pixels per CSS pixel. */
  draw(box: Box, camera: Camera, style: Style, faded: Rgb | null, ratio: number, first: number, count: number) {
    const { gl, uniforms, canvas } = this;
    const left = Math.round(box.x * ratio);
    const width = Math.round((box.x + box.width) * ratio) - left;
    const bottom = canvas.height - Math.round((box.y + box.height) * ratio);
    const height = canvas.height - Math.round(box.y * ratio) - bottom;
    gl.viewport(left, bottom, width, height);
    gl.scissor(left, bottom, width, height); // clips points at the edge of the panel
    const scale = scaleOf(camera, box);
    gl.uniform2f(uniforms.center, camera[0], camera[1]);
    gl.uniform2f(uniforms.scale, (2 * scale) / box.width, (2 * scale) / box.height);
    gl.uniform1f(uniforms.size, style.size * ratio);
    gl.uniform1f(uniforms.alpha, style.alpha);
    const [red, green, blue] = faded ?? [0, 0, 0];
    gl.uniform4f(uniforms.faded, red / 255, green / 255, blue / 255, faded ? 0.8 : 0);
    gl.drawArrays(gl.POINTS, first, count);
  }

  /** Copy the off-screen buffer to the canvas. */
  present() {
    const { gl } = this;
    const { width, height } = this.canvas;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.offscreen);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.scissor(0, 0, width, height);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }
}

function compileProgram(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) break; // the context is lost: linking fails below
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Unavailable(`WebGL2 cannot draw points here: ${gl.getProgramInfoLog(program) ?? "no reason given"}`);
  return program;
}
