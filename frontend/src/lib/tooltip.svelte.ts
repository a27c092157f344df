// The tooltip at the pointer; there is one for the whole page.
export interface TooltipContent {
  title: string;
  lines?: string[];
  map?: { values: Uint16Array; rows: number; columns: number };
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
