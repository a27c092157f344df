// Waiting for the graphics card without blocking the page: a fence is set behind what was asked for, and looked at from
// time to time. The time until it is passed is what the drawing took.
const LOOK = 3; // milliseconds between looks
const ENOUGH = 3_000; // a fence that is not passed by then never will be: the context is lost

export class GpuFence {
  private timer = 0;

  get busy(): boolean {
    return this.timer !== 0;
  }

  /** Call back when all that was asked of the card is done; an earlier callback that still waits is dropped. */
  after(gl: WebGL2RenderingContext, done: (milliseconds: number) => void) {
    this.drop();
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    const start = performance.now();
    gl.flush();
    const look = () => {
      const taken = performance.now() - start;
      const passed = sync === null || gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.SIGNALED;
      if (!passed && taken < ENOUGH) {
        this.timer = window.setTimeout(look, LOOK);
        return;
      }
      this.timer = 0;
      gl.deleteSync(sync);
      done(taken);
    };
    this.timer = window.setTimeout(look, LOOK);
  }

  drop() {
    clearTimeout(this.timer);
    this.timer = 0;
  }
}
