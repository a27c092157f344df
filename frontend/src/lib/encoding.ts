// The binary arrays of the server hold little-endian u16 values. This is the only file that knows what they mean; the
// special values are declared in Python.
import { CODES, FULL, MISSING, NOISE, TOP, UNKNOWN } from "../generated/encoding";

export { CODES, FULL, MISSING, NOISE, TOP, UNKNOWN, UNPLACED } from "../generated/encoding";

/** The cluster of a label: -1 for noise, null if there is no such map. */
export const decodeLabel = (label: number): number | null => (label === MISSING ? null : label === NOISE ? -1 : label);

/** The label of a cluster. */
export const encodeLabel = (cluster: number) => (cluster < 0 ? NOISE : cluster);

/** The number that an amount stands for in a column from `low` to `high`; NaN if it is unknown. */
export const decodeAmount = (amount: number, { low, high }: { low?: number | null; high?: number | null }) =>
  amount === UNKNOWN ? NaN : (low ?? 0) + (((high ?? 0) - (low ?? 0)) * amount) / TOP;

/** The index of a category; null if it is unknown. */
export const decodeCode = (code: number): number | null => (code === UNKNOWN ? null : code);

/** The code of a category. */
export const encodeCode = (category: number | null | undefined) => category ?? UNKNOWN;

/** The value at a coordinate, also between and beyond the encoded ones; UNPLACED must be excluded first. */
export const decodePosition = (coordinate: number, center: number, step: number) =>
  center + (coordinate - TOP / 2) * step;

/** The coordinate of a value, not rounded. */
export const encodePosition = (value: number, center: number, step: number) => (value - center) / step + TOP / 2;

/** An attention weight: it is encoded by its square root. */
export const decodeAttention = (weight: number) => (weight / FULL) ** 2;

let halves: Float32Array | null = null;

/** A 16-bit floating point number by its bits. */
export function decodeHalf(bits: number): number {
  halves ??= Float32Array.from({ length: CODES }, (_, code) => halfOf(code));
  return halves[bits];
}

function halfOf(bits: number): number {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 0x1f, (bits & 0x3ff) / 0x400];
  if (exponent === 0) return sign * 2 ** -14 * fraction;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction);
}
