// Waiting for the GPU without blocking the page: a WebGL fence is placed behind the commands and polled. The time until
// it is signaled is the time the drawing took.
const POLL = 3; // milliseconds between polls
const TIMEOUT = 3_000; // milliseconds; a fence that is not signaled by then belongs to a lost context

export class GpuFence {
  private timer = 0;

  get busy(): boolean {
    return this.timer !== 0;
  }

  /** Call back when the GPU has finished all commands so far. Replaces a callback that is still waiting. */
  after(gl: WebGL2RenderingContext, done: (milliseconds: number) => void) {
    this.cancel();
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    const start = performance.now();
    gl.flush();
    const poll = () => {
      const elapsed = performance.now() - start;
      const signaled = sync === null || gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.SIGNALED;
      if (!signaled && elapsed < TIMEOUT) {
        this.timer = window.setTimeout(poll, POLL);
        return;
      }
      this.timer = 0;
      gl.deleteSync(sync);
      done(elapsed);
    };
    this.timer = window.setTimeout(poll, POLL);
  }

  cancel() {
    clearTimeout(this.timer);
    this.timer = 0;
  }
}
