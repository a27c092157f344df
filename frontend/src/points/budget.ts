// How many points to draw at once. While something changes, a sample that fits a frame is drawn; after that, larger
// samples follow until all points are drawn. How many points fit is measured, because GPUs are up to a thousand times
// faster than software rendering.
import { clamp } from "../lib/math";
import { LAYERS, type Run } from "./order";

export const FRAME = 25; // milliseconds per frame
const MIN_POINTS = 4_000;
const MAX_POINTS = 50_000_000;
const GROWTH = 4; // ratio of the sizes of successive samples

export class Budget {
  /** The number of points that fit a frame. The initial value is for slow machines, so that something is drawn soon. */
  count = 30_000;

  /** The count never falls below `minimum`: if frames are late, other work of the browser may be the reason. */
  constructor(
    private readonly target = FRAME,
    private readonly minimum: () => number = () => MIN_POINTS,
  ) {}

  /** Update the count after a drawing. Steps are bounded, so that one outlier does little harm. */
  update(drawn: number, milliseconds: number) {
    const estimate = (drawn * this.target) / Math.max(milliseconds, 1);
    // a small drawing in time does not show that a larger one would be late
    if (milliseconds <= this.target && estimate < this.count) return;
    const goal = clamp(estimate, this.count / 4, 2 * this.count);
    const weight = goal > this.count ? 0.6 : 0.3;
    const minimum = Math.max(MIN_POINTS, this.minimum());
    this.count = Math.round(clamp(this.count + weight * (goal - this.count), minimum, MAX_POINTS));
  }
}

/** The size of the sample after one of `drawn` points: several times larger, or all points if that is not much more. */
export function nextSampleSize(drawn: number, total: number): number {
  const next = Math.max(drawn, MIN_POINTS) * GROWTH;
  return next >= total / 3 ? total : next;
}

/** The first part of a run: a sample of `fraction` of its `total` points. */
export interface Batch extends Run {
  total: number;
  fraction: number;
}

/**
 * A sample of about `limit` points: the first part of every run, with at least one point. Up to half of the limit is for
 * selected points, which are few and important.
 */
export function sampleBatches(runs: readonly Run[], limit: number): Batch[] {
  const totals = new Array<number>(LAYERS).fill(0);
  for (const run of runs) totals[run.layer] += run.count;
  const selected = totals[LAYERS - 1];
  const others = totals.reduce((sum, count) => sum + count, 0) - selected;
  const forOthers = Math.min(others, Math.max(limit / 2, limit - selected));
  const share = (part: number, total: number) => (total === 0 ? 1 : Math.min(1, part / total));
  const fractions = totals.map((_, layer) =>
    layer === LAYERS - 1 ? share(limit - forOthers, selected) : share(forOthers, others),
  );
  return runs.map((run) => ({
    ...run,
    total: run.count,
    count: Math.min(run.count, Math.ceil(run.count * fractions[run.layer])),
    fraction: fractions[run.layer],
  }));
}

/** An unfinished drawing: batches are drawn in order, some points at a time. */
export class Pass {
  readonly total: number;
  private index = 0; // of the current batch
  private offset = 0; // number of its points already drawn

  constructor(private readonly batches: readonly Batch[]) {
    this.total = batches.reduce((sum, batch) => sum + batch.count, 0);
  }

  get done(): boolean {
    return this.index >= this.batches.length;
  }

  /** Draw up to `limit` more points; returns how many were drawn. */
  advance(limit: number, draw: (batch: Batch, first: number, count: number) => void): number {
    let drawn = 0;
    while (drawn < Math.max(1, limit) && !this.done) {
      const batch = this.batches[this.index];
      const count = Math.min(Math.max(1, limit) - drawn, batch.count - this.offset);
      if (count > 0) draw(batch, batch.first + this.offset, count);
      this.offset += count;
      drawn += count;
      if (this.offset >= batch.count) {
        this.index++;
        this.offset = 0;
      }
    }
    return drawn;
  }
}
