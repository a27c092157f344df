// The size of thumbnail maps.

/** The size at which `count` maps fill one row of `width`, or several even rows where one would make them too small. */
export function thumbSize(width: number, count: number, least = 48, most = 96): number {
  const fit = (columns: number) => Math.floor((width - 8 * (columns - 1)) / columns) - 6; // gaps of 8, padding of 6
  for (let columns = Math.max(1, count); columns > 1; columns = Math.ceil(columns / 2))
    if (fit(columns) >= least) return Math.min(most, fit(columns));
  return Math.max(least, Math.min(most, fit(1)));
}
