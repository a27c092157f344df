// Where the nodes of the tree that is shown take their colors from.

/** The category whose hue something has, and its place among the shades, from 0 to 1; null: the hue itself. */
export interface Shade {
  category: number;
  at: number | null;
}

class Shading {
  #table = $state.raw(new Map<number, Shade>());

  /** Use these shades from now on, by number. */
  show(table: Map<number, Shade>) {
    this.#table = table;
  }

  of(number: number): Shade {
    return this.#table.get(number) ?? { category: number, at: null };
  }
}

export const shading = new Shading();
