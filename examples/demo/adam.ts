// Adam (Kingma & Ba 2015, algorithm 1), uphill: it follows the gradient of an objective.

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

export class Adam {
  #steps = 0;
  readonly #mean: Float64Array;
  readonly #square: Float64Array;

  constructor(
    readonly parameters: Float32Array,
    readonly rate: number,
  ) {
    this.#mean = new Float64Array(parameters.length);
    this.#square = new Float64Array(parameters.length);
  }

  ascend(gradient: Float32Array): void {
    this.#steps += 1;
    const rate = this.rate / (1 - BETA1 ** this.#steps);
    const correction = 1 / (1 - BETA2 ** this.#steps);
    for (let i = 0; i < gradient.length; ++i) {
      const g = gradient[i]!;
      const mean = (this.#mean[i] = BETA1 * this.#mean[i]! + (1 - BETA1) * g);
      const square = (this.#square[i] = BETA2 * this.#square[i]! + (1 - BETA2) * g * g);
      this.parameters[i]! += (rate * mean) / (Math.sqrt(square * correction) + EPSILON);
    }
  }
}
