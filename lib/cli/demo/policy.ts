// A policy without a network: one row of logits for each state, and the state is the problem, the place in the response, the last
// digit and the token before. What a network would share between states it has to learn for each.
import { ANSWER, ANSWER_END, DIGITS, MAX_TOKENS, PROBLEMS, STEP, STEP_END, VOCABULARY } from "./task";

/** The token before: any, or none at the begin. */
const BEFORE = VOCABULARY + 1;
const STATES = PROBLEMS.length * MAX_TOKENS * BEFORE * (DIGITS + 1);

/** The row of logits that decides the next token. */
export function stateOf(problem: number, tokens: readonly number[]): number {
  const digit = tokens.findLast((token) => token < DIGITS) ?? DIGITS;
  const before = tokens.at(-1) ?? VOCABULARY;
  return ((problem * MAX_TOKENS + tokens.length) * BEFORE + before) * (DIGITS + 1) + digit;
}

/** How sure the fresh policy is of the form of a response: as after fine-tuning on a chat format, with random digits in it. */
const FORM = 5;

/** What may follow, as far as the form goes. */
function expected(before: number, place: number): readonly number[] {
  if (place === 0) return [STEP];
  if (before === STEP || before === ANSWER) return [0, 1, 2, 3];
  if (before === STEP_END) return [ANSWER];
  return place < 3 ? [STEP_END] : [ANSWER_END];
}

export class TablePolicy {
  readonly logits = new Float32Array(STATES * VOCABULARY);
  private readonly mean = new Float64Array(this.logits.length);
  private readonly square = new Float64Array(this.logits.length);
  private steps = 0;

  constructor() {
    for (let state = 0; state < STATES; ++state) {
      const before = Math.floor(state / (DIGITS + 1)) % BEFORE;
      const place = Math.floor(state / (BEFORE * (DIGITS + 1))) % MAX_TOKENS;
      for (const token of expected(before, place)) this.logits[state * VOCABULARY + token] = FORM;
    }
  }

  /** The rows of some states, one after the other. */
  rowsOf(states: Int32Array): Float32Array {
    const rows = new Float32Array(states.length * VOCABULARY);
    states.forEach((state, i) => {
      rows.set(this.logits.subarray(state * VOCABULARY, (state + 1) * VOCABULARY), i * VOCABULARY);
    });
    return rows;
  }

  /** One step of Adam down a gradient that is given for the rows of some states. */
  descend(states: Int32Array, gradient: ArrayLike<number>, rate: number): void {
    const sum = new Map<number, number>();
    for (let i = 0; i < states.length; ++i)
      for (let v = 0; v < VOCABULARY; ++v) {
        const at = states[i]! * VOCABULARY + v;
        sum.set(at, (sum.get(at) ?? 0) + gradient[i * VOCABULARY + v]!);
      }
    ++this.steps;
    const [first, second] = [1 - 0.9 ** this.steps, 1 - 0.999 ** this.steps];
    for (const [at, slope] of sum) {
      const mean = 0.9 * this.mean[at]! + 0.1 * slope;
      const square = 0.999 * this.square[at]! + 0.001 * slope * slope;
      this.mean[at] = mean;
      this.square[at] = square;
      this.logits[at]! -= (rate * (mean / first)) / (Math.sqrt(square / second) + 1e-8);
    }
  }
}
