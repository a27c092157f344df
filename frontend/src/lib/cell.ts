// The shape of a small square that stands for a category: full, hollow, a triangle, a cross; each further ten categories
// have the colours of the first ten again and the next shape.
export type Ring = [number, number][];

const LEGIBLE = 4; // pixels from which on shapes can be told

/** Outlines within a square of `side` pixels; they do not overlap, except that a hole lies inside (fill them even-odd). */
export function cellShape(side: number, mark: number): Ring[] {
  const s = side;
  if (side < LEGIBLE || mark === 0) return [square(0, s)];
  if (mark === 1) {
    const edge = Math.max(1, Math.round(side / 4.5));
    return [square(0, s), square(edge, s - edge)];
  }
  if (mark === 2)
    return [
      [
        [s / 2, 0],
        [s, s],
        [0, s],
      ],
    ];
  const [c, t] = [s / 2, Math.max(1, s / 4)];
  return [
    [
      [0, 0],
      [t, 0],
      [c, c - t],
      [s - t, 0],
      [s, 0],
      [s, t],
      [c + t, c],
      [s, s - t],
      [s, s],
      [s - t, s],
      [c, c + t],
      [t, s],
      [0, s],
      [0, s - t],
      [c - t, c],
      [0, t],
    ],
  ];
}

const square = (from: number, to: number): Ring => [
  [from, from],
  [to, from],
  [to, to],
  [from, to],
];

/** Outlines as the data of an SVG path. */
export const pathOf = (rings: Ring[], x: number, y: number) =>
  rings.map((ring) => `M${ring.map(([dx, dy]) => `${x + dx} ${y + dy}`).join("L")}Z`).join("");
