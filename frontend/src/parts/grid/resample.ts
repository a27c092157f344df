// Maps at another size. Every pixel is the mean of what it covers, so that lines stay even at any size.
interface Weights {
  first: Int32Array;
  count: Int32Array;
  weight: Float32Array; // `most` per pixel
  most: number;
}

function weights(from: number, to: number): Weights {
  const most = Math.ceil(from / to) + 1;
  const first = new Int32Array(to);
  const count = new Int32Array(to);
  const weight = new Float32Array(to * most);
  for (let i = 0; i < to; i++) {
    const [low, high] = [(i * from) / to, ((i + 1) * from) / to];
    first[i] = Math.floor(low + 1e-9);
    for (let k = first[i]; k < from && k < high - 1e-9; k++) {
      weight[i * most + count[i]++] = (Math.min(high, k + 1) - Math.max(low, k)) / (high - low);
    }
  }
  return { first, count, weight, most };
}

/** A function that resamples square maps from one size to another; it returns the same array each time. */
export function resampler(from: number, to: number): (values: ArrayLike<number>, offset?: number) => Float32Array {
  const { first, count, weight, most } = weights(from, to);
  const across = new Float32Array(from * to);
  const out = new Float32Array(to * to);
  return (values, offset = 0) => {
    for (let row = 0; row < from; row++)
      for (let i = 0; i < to; i++) {
        let sum = 0;
        for (let k = 0; k < count[i]; k++) sum += weight[i * most + k] * values[offset + row * from + first[i] + k];
        across[row * to + i] = sum;
      }
    for (let i = 0; i < to; i++)
      for (let column = 0; column < to; column++) {
        let sum = 0;
        for (let k = 0; k < count[i]; k++) sum += weight[i * most + k] * across[(first[i] + k) * to + column];
        out[i * to + column] = sum;
      }
    return out;
  };
}
