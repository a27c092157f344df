// Queries and keys of one head on one example: their products, dimension by dimension, and the attention they make.
import type { LayerCard } from "../../../lib/api";
import { decodeHalf } from "../../../lib/encoding";

export interface HeadVectors {
  width: number; // dimensions
  scaling: number; // of products
  queries: Float32Array; // (query, dimension)
  keys: Float32Array; // (key, dimension)
  norms: Float32Array; // of values, by key; NaN: unknown
}

/** The part of a head in the vectors of a layer; with grouped keys, several heads share those of a key head. */
export function headVectors(
  layer: Pick<LayerCard, "heads" | "key_heads" | "width" | "scaling">,
  buffer: Uint16Array,
  head: number,
  queryCount: number,
  keyCount: number,
): HeadVectors | null {
  const { heads, key_heads: keyHeads, width, scaling } = layer;
  const keysFrom = queryCount * heads * width;
  const normsFrom = keysFrom + keyCount * keyHeads * width;
  if (buffer.length !== normsFrom + keyCount * keyHeads) return null; // of other tokens than those shown
  const shared = Math.floor(head / (heads / keyHeads));
  const rows = (first: number, count: number, stride: number, at: number, size: number) =>
    Float32Array.from({ length: count * size }, (_, i) =>
      decodeHalf(buffer[first + (Math.floor(i / size) * stride + at) * size + (i % size)]),
    );
  return {
    width,
    scaling,
    queries: rows(0, queryCount, heads, head, width),
    keys: rows(keysFrom, keyCount, keyHeads, shared, width),
    norms: rows(normsFrom, keyCount, keyHeads, shared, 1),
  };
}

export const queryOf = ({ queries, width }: HeadVectors, query: number) =>
  queries.subarray(query * width, (query + 1) * width);
export const keyOf = ({ keys, width }: HeadVectors, key: number) => keys.subarray(key * width, (key + 1) * width);

/** Scaled products of a query and a key, one per dimension; they add up to the score. */
export function productsOf(vectors: HeadVectors, query: number, key: number): Float32Array {
  const [q, k] = [queryOf(vectors, query), keyOf(vectors, key)];
  return q.map((value, dimension) => value * k[dimension] * vectors.scaling);
}

export const sumOf = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0);

/** The scores of a query with all keys. */
export const scoresOf = (vectors: HeadVectors, query: number): Float32Array =>
  Float32Array.from({ length: vectors.norms.length }, (_, key) => sumOf(productsOf(vectors, query, key)));

/** Attention (query, key): the softmax of the scores, to no later token if the layer is causal. */
export function attentionOf(vectors: HeadVectors, causal: boolean): Float32Array {
  const [rows, columns] = [vectors.queries.length / vectors.width, vectors.norms.length];
  const out = new Float32Array(rows * columns);
  for (let query = 0; query < rows; query++) {
    const scores = scoresOf(vectors, query).subarray(0, causal ? query + 1 : columns);
    const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
    const weights = scores.map((score) => Math.exp(score - top));
    const total = sumOf(weights);
    for (let key = 0; key < weights.length; key++) out[query * columns + key] = weights[key] / total;
  }
  return out;
}

/** The largest sizes: of values of any query and key, in each dimension of keys, and of the products of one query. */
export interface Extents {
  query: number;
  key: number;
  keys: Float32Array; // by dimension
}

export function extentsOf({ queries, keys, width }: HeadVectors): Extents {
  const top = new Float32Array(width);
  keys.forEach((value, i) => (top[i % width] = Math.max(top[i % width], Math.abs(value))));
  return { query: largestSize(queries), key: largestSize(top), keys: top };
}

const largestSize = (values: Float32Array) => values.reduce((top, value) => Math.max(top, Math.abs(value)), 0);

/** The largest product of a query with any key: strips and cells have this scale, whichever key is looked at. */
export const largestProduct = (vectors: HeadVectors, { keys }: Extents, query: number) =>
  largestSize(queryOf(vectors, query).map((value, at) => value * keys[at] * vectors.scaling));

export const ORDERS = ["dimension", "product"] as const;
export type Order = (typeof ORDERS)[number];

/** The dimensions in the order in which they are drawn: as they are, or by falling product. */
export function dimensionOrder(products: Float32Array, order: Order): number[] {
  const dimensions = Array.from(products, (_, dimension) => dimension);
  return order === "product" ? dimensions.sort((a, b) => products[b] - products[a] || a - b) : dimensions;
}

/** The dimensions with the largest products in the direction of the score. */
export function mainDimensions(products: Float32Array, most = 3): number[] {
  const sign = sumOf(products) < 0 ? -1 : 1;
  return dimensionOrder(
    products.map((value) => sign * value),
    "product",
  )
    .slice(0, most)
    .filter((dimension) => sign * products[dimension] > 0);
}
