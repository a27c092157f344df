// The tooltip at the pointer; there is one for the whole page.
export interface TooltipContent {
  title: string;
  lines?: string[];
  map?: { values: Uint16Array; rows: number; columns: number };
  picture?: number; // the example whose picture is shown
}

const MARGIN = 4; // pixels from the edge of the window

/** Where a tooltip starts: right of or below the pointer, or on the other side where there is no room; never outside. */
export function beside(pointer: number, extent: number, available: number): number {
  const start = pointer + 16 + extent > available - MARGIN ? pointer - extent - 12 : pointer + 16;
  return Math.max(MARGIN, Math.min(start, available - MARGIN - extent));
}

class TooltipState {
  current = $state.raw<(TooltipContent & { x: number; y: number }) | null>(null);

  show({ clientX, clientY }: { clientX: number; clientY: number }, content: TooltipContent) {
    this.current = { x: clientX, y: clientY, ...content };
  }

  hide() {
    this.current = null;
  }
}

export const tooltip = new TooltipState();
