// Where the tour is shown: in the corner of the window where it covers least of what it describes.

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const MARGIN = 20; // pixels from the sides of the window
const ABOVE_FOOT = 64; // pixels from its lower edge: the controls of a tab stay free

/** The part of a box that is inside a frame; null if none is. */
export function clipped(box: Box, frame: Box): Box | null {
  const [left, top] = [Math.max(box.left, frame.left), Math.max(box.top, frame.top)];
  const [right, bottom] = [Math.min(box.right, frame.right), Math.min(box.bottom, frame.bottom)];
  return right > left && bottom > top ? { left, top, right, bottom } : null;
}

const overlap = (a: Box, b: Box) =>
  Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
  Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

/** The box of a dialog of some size; of two corners that are as good the one at the lower right comes first. */
export function placeTour(
  dialog: { width: number; height: number },
  view: { width: number; height: number },
  about: Box | null,
  top: number, // below the headline
): Box {
  const lefts = [view.width - MARGIN - dialog.width, MARGIN];
  const tops = [view.height - ABOVE_FOOT - dialog.height, top];
  const corners = tops.flatMap((y) =>
    lefts.map((x) => ({ left: x, top: y, right: x + dialog.width, bottom: y + dialog.height })),
  );
  const covered = (corner: Box) => (about ? overlap(corner, about) : 0);
  return corners.reduce((best, corner) => (covered(corner) < covered(best) ? corner : best));
}
