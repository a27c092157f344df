// How many points to draw at once. A sample that fits a frame is drawn while something changes; when all is still, finer
// pictures follow until every point is drawn. How much fits is measured while drawing: it differs by a factor of a
// thousand between a graphics card and a processor that stands in for one.
import { LAYERS, type Run } from "./order";

export const FRAME = 25; // milliseconds that a frame may take
const LEAST = 4_000;
const MOST = 50_000_000;
const FINER = 4; // how many times more points the next picture has

export class Budget {
  /** As many points as fit a frame. The first guess suits a slow machine, so that the first picture comes soon. */
  count = 30_000;

  /** Never less than `least`, even if frames are late: the browser's own work may be what fills them. */
  constructor(
    private readonly target = FRAME,
    private readonly least: () => number = () => LEAST,
  ) {}

  /** Learn from a drawing. Steps are bounded, so that one hiccup of the machine does not spoil the picture. */
  learn(drawn: number, milliseconds: number) {
    const fitting = (drawn * this.target) / Math.max(milliseconds, 1);
    // a small drawing that was in time does not show that a larger one would be late
    if (milliseconds <= this.target && fitting < this.count) return;
    const aim = Math.min(2 * this.count, Math.max(this.count / 4, fitting));
    const weight = aim > this.count ? 0.6 : 0.3;
    this.count = Math.round(Math.min(MOST, Math.max(LEAST, this.least(), this.count + weight * (aim - this.count))));
  }
}

/** How many points the picture after one of `drawn` points has: several times more, and all when that is near. */
export function finer(drawn: number, total: number): number {
  const next = Math.max(drawn, LEAST) * FINER;
  return next >= total / 3 ? total : next;
}

/** The beginning of a run to draw: `fraction` of the `whole` run stands for all of it. */
export interface Stroke extends Run {
  whole: number;
  fraction: number;
}

/**
 * What to draw if about `limit` points may be drawn: the beginning of every run. Selected points come first (up to half
 * of the limit): they are few and what one looks at. A run that shows anything shows at least one point.
 */
export function strokes(runs: readonly Run[], limit: number): Stroke[] {
  const totals = new Array<number>(LAYERS).fill(0);
  for (const run of runs) totals[run.layer] += run.count;
  const front = totals[LAYERS - 1];
  const others = totals.reduce((sum, count) => sum + count, 0) - front;
  const forOthers = Math.min(others, Math.max(limit / 2, limit - front));
  const share = (part: number, whole: number) => (whole === 0 ? 1 : Math.min(1, part / whole));
  const fractions = totals.map((_, layer) =>
    layer === LAYERS - 1 ? share(limit - forOthers, front) : share(forOthers, others),
  );
  return runs.map((run) => ({
    ...run,
    whole: run.count,
    count: Math.min(run.count, Math.ceil(run.count * fractions[run.layer])),
    fraction: fractions[run.layer],
  }));
}

/** A picture in the making: strokes are drawn in order, a few points at a time. */
export class Pass {
  readonly total: number;
  private at = 0; // stroke
  private within = 0; // points of it that are drawn

  constructor(private readonly list: readonly Stroke[]) {
    this.total = list.reduce((sum, stroke) => sum + stroke.count, 0);
  }

  get done(): boolean {
    return this.at >= this.list.length;
  }

  /** Draw the next `limit` points at most; returns how many were drawn. */
  advance(limit: number, draw: (stroke: Stroke, first: number, count: number) => void): number {
    let drawn = 0;
    while (drawn < Math.max(1, limit) && !this.done) {
      const stroke = this.list[this.at];
      const count = Math.min(Math.max(1, limit) - drawn, stroke.count - this.within);
      if (count > 0) draw(stroke, stroke.first + this.within, count);
      this.within += count;
      drawn += count;
      if (this.within >= stroke.count) {
        this.at++;
        this.within = 0;
      }
    }
    return drawn;
  }
}
