// The one hint that follows the pointer: it answers at once and is never in the way.
export interface Tip {
  x: number;
  y: number;
  title: string;
  lines?: string[];
  map?: { values: Uint16Array; rows: number; columns: number };
}

class Hint {
  now = $state.raw<Tip | null>(null);
  show(event: MouseEvent | { clientX: number; clientY: number }, tip: Omit<Tip, "x" | "y">) {
    this.now = { x: event.clientX, y: event.clientY, ...tip };
  }
  hide() {
    this.now = null;
  }
}

export const hint = new Hint();
