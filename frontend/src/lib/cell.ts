// Shapes of the small squares that stand for categories: filled, hollow, triangle, cross. Colors repeat after ten
// categories, with the next shape.
export type Ring = [number, number][];

const MIN_SIDE = 4; // pixels; shapes cannot be distinguished in smaller squares

/** Outlines within a square of `side` pixels, to be filled by the even-odd rule: a ring inside another is a hole. */
export function cellShape(side: number, mark: number): Ring[] {
  const s = side;
  if (side < MIN_SIDE || mark === 0) return [square(0, s)];
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

/** Outlines as SVG path data. */
export const pathOf = (rings: Ring[], x: number, y: number) =>
  rings.map((ring) => `M${ring.map(([dx, dy]) => `${x + dx} ${y + dy}`).join("L")}Z`).join("");
