// Seeded pseudo-random numbers: the same seed gives the same run, on every machine.

const TWO_TO_32 = 2 ** 32;

/** sfc32 (PractRand's small fast counting generator) on 32-bit words. */
export class Random {
  #a: number;
  #b: number;
  #c = 1;
  #count = 1;

  /** `stream` separates generators of one seed that must not influence each other. */
  constructor(seed: number, stream: number) {
    this.#a = seed | 0;
    this.#b = stream | 0;
    for (let i = 0; i < 16; ++i) this.uniform(); // small seeds differ in few bits: mix them first
  }

  /** In [0, 1), a multiple of 2^-32. */
  uniform(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / TWO_TO_32;
  }

  /** Passes over numbers that others take. */
  skip(count: number): void {
    for (let i = 0; i < count; ++i) this.uniform();
  }

  /** An integer in [0, n). */
  below(n: number): number {
    return Math.floor(this.uniform() * n);
  }

  /** Standard normal, by the Box-Muller transform. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}
