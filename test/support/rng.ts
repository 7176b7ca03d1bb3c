// Random test data that is the same everywhere and every time. Value number n of a seed is a hash of (seed, n),
// so a generator has no state but its counter.

export interface Rng {
  /** One number in [0, 1). */
  uniform(): number;
  /** n numbers between lo and hi, rounded to float32, which may land on hi. Defaults to [0, 1). */
  f32(n: number, lo?: number, hi?: number): Float32Array;
  /** n numbers in [lo, hi). Defaults to [0, 1). */
  f64(n: number, lo?: number, hi?: number): Float64Array;
  /** n integers in [lo, hi). */
  i32(n: number, lo: number, hi: number): Int32Array;
  /** n flags, each 1 with probability `share`. */
  mask(n: number, share: number): Uint8Array;
  /** n normally distributed numbers, rounded to float32. Defaults to mean 0, std 1. */
  normal(n: number, mean?: number, std?: number): Float32Array;
}

/** Spreads every input bit over the 32 output bits (multiply-xorshift finaliser). */
function mix(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

export function rng(seed: number): Rng {
  const key = mix(seed + 0x9e3779b9);
  let counter = 0;

  const bits = () => mix(mix(counter++ ^ key) + key);
  // 53 bits from two draws: 27 high ones and 26 low ones, the full resolution of a double in [0, 1).
  const uniform = () => ((bits() >>> 5) * 2 ** 26 + (bits() >>> 6)) / 2 ** 53;
  // Box-Muller; 1 - u keeps the logarithm away from 0.
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

  function fill<A extends Float32Array | Float64Array | Int32Array | Uint8Array>(array: A, draw: () => number): A {
    for (let i = 0; i < array.length; ++i) array[i] = draw();
    return array;
  }

  return {
    uniform,
    f32: (n, lo = 0, hi = 1) => fill(new Float32Array(n), () => lo + (hi - lo) * uniform()),
    f64: (n, lo = 0, hi = 1) => fill(new Float64Array(n), () => lo + (hi - lo) * uniform()),
    i32: (n, lo, hi) => fill(new Int32Array(n), () => lo + Math.floor((hi - lo) * uniform())),
    mask: (n, share) => fill(new Uint8Array(n), () => (uniform() < share ? 1 : 0)),
    normal: (n, mean = 0, std = 1) => fill(new Float32Array(n), () => mean + std * normal()),
  };
}
