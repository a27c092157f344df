// Whether attention from stored vectors is that of the model.
import type { Bundle } from "../../examples/maps";
import { resample } from "../../examples/reduce";

const TOLERANCE = 0.02; // of a pooled weight: vectors are stored with 11 bits

/** Whether a full map, pooled, is the stored one: not so if a layer hides tokens, or adds something to its scores. */
export function agrees(map: Float32Array, { mean, pooled, queries, keys }: Bundle): boolean {
  if (!pooled || map.length !== queries.length * keys.length) return false;
  const small = resample(map, queries.length, keys.length, pooled, pooled);
  return small.every((value, at) => Math.abs(value - mean[at]) <= TOLERANCE);
}
