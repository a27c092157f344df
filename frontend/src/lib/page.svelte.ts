// What the tab that is shown tells the frame: its sentence, and what the keys do on it.
export interface Key {
  keys: string;
  does: string;
}

class Page {
  sentence = $state("");
  keys = $state.raw<Key[]>([]);
}

export const page = new Page();
