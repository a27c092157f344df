// The one hint that follows the pointer: it answers at once and is never in the way.
export interface TooltipContent {
  x: number;
  y: number;
  title: string;
  lines?: string[];
  map?: { values: Uint16Array; rows: number; columns: number };
}

class Hint {
  current = $state.raw<TooltipContent | null>(null);
  show(event: MouseEvent | { clientX: number; clientY: number }, tip: Omit<TooltipContent, "x" | "y">) {
    this.current = { x: event.clientX, y: event.clientY, ...tip };
  }
  hide() {
    this.current = null;
  }
}

export const tooltip = new Hint();
