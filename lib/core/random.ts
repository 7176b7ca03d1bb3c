// Numbers from a seed: the same on every machine, whatever else draws.

/**
 * Integers in [0, count), each equally likely. The words are SplitMix32: a counter with an odd step, its bits spread by two
 * multiplications. Words from the incomplete last stretch of length `count` below 2^32 are drawn again, so none is favoured.
 */
export function integersBelow(count: number, seed: number): () => number {
  let state = seed >>> 0;
  const word = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  const limit = 2 ** 32 - (2 ** 32 % count);
  return () => {
    let x = word();
    while (x >= limit) x = word();
    return x % count;
  };
}
