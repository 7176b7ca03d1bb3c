// The policy: a small multi-layer perceptron in @jax-js/jax, on its WebAssembly device. It sees the prompt, its position and the
// last three tokens, and gives the logits of the next one.
//
// jax-js differentiates the network; the gradient of the objective with respect to the logits comes from surprisal. The two
// meet in a vector-Jacobian product: the gradient of sum(logits * cotangent) is what the parameters need.
import { grad, init, jit, nn, numpy as np } from "@jax-js/jax";
import type { Collective } from "../../lib";
import { Adam } from "./adam";
import type { Random } from "./random";
import { addedUp } from "./ranks";
import { MAX_TOKENS, MODULUS, type Problem, PROMPT_LENGTH, VOCABULARY } from "./task";

const HIDDEN = 64;
const WINDOW = 3;
const NO_TOKEN = VOCABULARY;
const AT_POSITION = PROMPT_LENGTH * MODULUS;
const AT_WINDOW = AT_POSITION + MAX_TOKENS;
export const FEATURES = AT_WINDOW + WINDOW * (VOCABULARY + 1);

/** Writes the features of the token that comes at `position` of a row, given the tokens before it. `into` is all 0. */
export function writeFeatures(into: Float32Array, problem: Problem, row: Int32Array, position: number): void {
  problem.digits.forEach((digit, i) => (into[i * MODULUS + digit] = 1));
  into[AT_POSITION + position] = 1;
  for (let back = 1; back <= WINDOW; ++back) {
    const token = back <= position ? row[position - back]! : NO_TOKEN;
    into[AT_WINDOW + (back - 1) * (VOCABULARY + 1) + token] = 1;
  }
}

/** The tensors of the network, in the order in which they lie in one flat array. */
type Tensors<Tensor> = [hidden: Tensor, hiddenBias: Tensor, out: Tensor, outBias: Tensor];
const SHAPES: Readonly<Tensors<number[]>> = [[FEATURES, HIDDEN], [HIDDEN], [HIDDEN, VOCABULARY], [VOCABULARY]];
const SPREAD: Readonly<Tensors<number>> = [0.3, 0, 0.1, 0]; // standard deviation of the initial values

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, side) => product * side, 1);

// jax-js arrays are moved, not shared: a function consumes an array that it is given, unless it gets `.ref`.
function forward([hidden, hiddenBias, out, outBias]: Tensors<np.Array>, features: np.Array): np.Array {
  return np.matmul(nn.relu(np.matmul(features, hidden).add(hiddenBias)), out).add(outBias);
}

function projected(network: Tensors<np.Array>, features: np.Array, cotangent: np.Array): np.Array {
  return np.sum(forward(network, features).mul(cotangent));
}

const compiledForward = jit(forward);
const compiledGradient = jit(grad(projected));

/** Once per thread, before the first policy. */
export async function startJax(): Promise<void> {
  await init("wasm");
}

export class Network {
  /** All parameters, tensor after tensor. */
  readonly parameters: Float32Array;
  #optimizer: Adam;

  constructor(random: Random, rate: number) {
    this.parameters = Float32Array.from(
      SHAPES.flatMap((shape, i) => Array.from({ length: sizeOf(shape) }, () => SPREAD[i]! * random.normal())),
    );
    this.#optimizer = new Adam(this.parameters, rate);
  }

  /** Forgets what the optimiser has learnt about the gradient so far. */
  restartOptimizer(): void {
    this.#optimizer = new Adam(this.parameters, this.#optimizer.rate);
  }

  /** Logits [rows, VOCABULARY] of features [rows, FEATURES]. */
  logits(features: Float32Array): Float32Array {
    return compiledForward(this.#tensors(), asRows(features, FEATURES)).dataSync() as Float32Array;
  }

  /** One step uphill, given the gradient of the objective with respect to the logits of `features`: of all ranks together. */
  ascend(features: Float32Array, logitGradient: Float32Array, collective?: Collective): void {
    const tensors = compiledGradient(this.#tensors(), asRows(features, FEATURES), asRows(logitGradient, VOCABULARY));
    const gradient = new Float32Array(this.parameters.length);
    let at = 0;
    for (const tensor of tensors) {
      const values = tensor.dataSync() as Float32Array;
      gradient.set(values, at);
      at += values.length;
    }
    this.#optimizer.ascend(addedUp(gradient, collective));
  }

  #tensors(): Tensors<np.Array> {
    let at = 0;
    const tensor = (shape: number[]): np.Array =>
      np.array(this.parameters.subarray(at, (at += sizeOf(shape))), { shape });
    return [tensor(SHAPES[0]), tensor(SHAPES[1]), tensor(SHAPES[2]), tensor(SHAPES[3])];
  }
}

function asRows(values: Float32Array, width: number): np.Array {
  return np.array(values, { shape: [values.length / width, width] });
}
