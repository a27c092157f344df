// The nearest maps on the plane and by vectors, side by side, and where the two disagree.

export interface Compared {
  map: number; // its index
  agrees: boolean; // the other list has it, too
}

/** The first maps of a list, and whether each is anywhere in another list. */
export function compare(list: readonly number[], other: readonly number[], most: number): Compared[] {
  const known = new Set(other);
  return list.slice(0, most).map((map) => ({ map, agrees: known.has(map) }));
}

export const agreeing = (compared: Compared[]) => compared.filter(({ agrees }) => agrees).length;
