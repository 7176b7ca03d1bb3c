// What the demo's policy learns: from the prompt "a b" with digits below 4 to
//
//     <step> x </step> <answer> y </answer>        x = a + b,  y = x · b     (mod 4)
//
// The vocabulary has the four digits, the four delimiters and nothing else.

export const DIGITS = 4;
export const TEXT = ["0", "1", "2", "3", "<step>", "</step>", "<answer>", "</answer>"] as const;
export const VOCABULARY = TEXT.length;
export const STEP = 4;
export const STEP_END = 5;
export const ANSWER = 6;
export const ANSWER_END = 7;
/** A longer response is cut. */
export const MAX_TOKENS = 8;

export interface Problem {
  readonly a: number;
  readonly b: number;
}

export const PROBLEMS: readonly Problem[] = Array.from({ length: DIGITS * DIGITS }, (_, i) => ({
  a: Math.floor(i / DIGITS),
  b: i % DIGITS,
}));

/** Of the right response: the step and the answer. */
export function resultsOf({ a, b }: Problem): readonly [step: number, answer: number] {
  const step = (a + b) % DIGITS;
  return [step, (step * b) % DIGITS];
}

/** The one digit between two delimiters, where there is exactly that. */
function digitBetween(tokens: readonly number[], begin: number, end: number): number | undefined {
  const at = tokens.indexOf(begin);
  return at >= 0 && tokens[at + 2] === end && tokens[at + 1]! < DIGITS ? tokens[at + 1] : undefined;
}

/** 0.1 for a step and for an answer of one digit, 0.1 for the right step, 0.5 for the right answer, −0.5 for any other. */
export function rewardOf(problem: Problem, tokens: readonly number[]): number {
  const [step, answer] = resultsOf(problem);
  const given = [digitBetween(tokens, STEP, STEP_END), digitBetween(tokens, ANSWER, ANSWER_END)];
  const form = given.filter((digit) => digit !== undefined).length;
  return (form + (given[0] === step ? 1 : 0)) / 10 + (given[1] === answer ? 0.5 : -0.5);
}
