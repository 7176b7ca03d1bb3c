// The task: ((a + b) * c + d) mod 4, written out in two delimited steps and an answer, which a program checks.
//
//   prompt    a b c d                                                          four digits
//   response  <step> x </step> <step> y </step> <answer> z </answer>           x = a + b, y = x * c, z = y + d, all mod 4
//
// A wrong x shows in its own step, a wrong z with right steps is a slip at the end: credit per step means something.
import { type BackendOption, findSpans, type Spans } from "../../lib";
import type { Random } from "./random";

export const MODULUS = 4;
/** Token ids: the digits are 0 … MODULUS - 1. */
export const STEP = MODULUS;
export const STEP_END = MODULUS + 1;
export const ANSWER = MODULUS + 2;
export const ANSWER_END = MODULUS + 3;
export const VOCABULARY = MODULUS + 4;
/** The delimiters that begin and end a step of a response (the answer is one), and the one that ends its thinking. */
export const DELIMITERS = { start: [[STEP], [ANSWER]], end: [[STEP_END], [ANSWER_END]], think_end: ANSWER } as const;
export const PROMPT_LENGTH = 4;
/** The response above has 9 tokens; a limit of 10 leaves room for a wrong one. */
export const MAX_TOKENS = 10;

const WORDS = [
  ...Array.from({ length: MODULUS }, (_, digit) => String(digit)),
  "<step>",
  "</step>",
  "<answer>",
  "</answer>",
];

export interface Problem {
  /** a, b, c, d: also the ids of the prompt. */
  readonly digits: readonly [number, number, number, number];
  /** The right x, y and z. */
  readonly results: readonly [x: number, y: number, z: number];
}

export function newProblem(random: Random): Problem {
  const digit = (): number => random.below(MODULUS);
  const [a, b, c, d] = [digit(), digit(), digit(), digit()];
  const x = (a + b) % MODULUS;
  const y = (x * c) % MODULUS;
  return { digits: [a, b, c, d], results: [x, y, (y + d) % MODULUS] };
}

export function problemText({ digits: [a, b, c, d] }: Problem): string {
  return `((${a} + ${b}) * ${c} + ${d}) mod ${MODULUS}`;
}

/** A text for each token. */
export function tokenTexts(tokens: ArrayLike<number>): string[] {
  return Array.from(tokens, (id) => WORDS[id]!);
}

export function tokenText(tokens: ArrayLike<number>): string {
  return tokenTexts(tokens).join(" ");
}

/** The form of a response with these digits in it, right or wrong. */
export function response(x: number, y: number, z: number): number[] {
  return [STEP, x, STEP_END, STEP, y, STEP_END, ANSWER, z, ANSWER_END];
}

/** Responses in padded rows. */
export interface Responses {
  readonly shape: readonly [rows: number, tokens: number];
  readonly tokens: Int32Array;
  /** Valid tokens of each row. */
  readonly lengths: Int32Array;
}

// In tenths, so that sums are exact: a response with everything right but the answer gets 0, and 0 is not positive.
const FORMAT = 1;
const RIGHT_STEP = 1;
const RIGHT_ANSWER = 5;

/** Contents of the spans of each row, in order. */
function contents({ shape: [rows, width], tokens }: Responses, spans: Spans): Int32Array[][] {
  const lists: Int32Array[][] = Array.from({ length: rows }, () => []);
  for (let s = 0; s < spans.count; ++s) {
    const row = spans.rows[s]!;
    lists[row]!.push(tokens.subarray(row * width + spans.begins[s]!, row * width + spans.finishes[s]!));
  }
  return lists;
}

/** The digit that stands alone between two delimiters; undefined if something else does. */
function soleDigit(content: Int32Array | undefined): number | undefined {
  return content?.length === 1 && content[0]! < MODULUS ? content[0] : undefined;
}

/**
 * Format: 0.1 for each of the two steps and the answer that holds one digit and nothing else. Result: 0.1 for a right step,
 * 0.5 for a right answer, -0.5 for any other answer or none.
 *
 * @returns one per row, in [-0.5, 1]; positive if the answer is right
 */
export function judge(responses: Responses, problems: readonly Problem[], backend: BackendOption): Float64Array {
  const { shape, tokens, lengths } = responses;
  const between = (start: number, end: number): Int32Array[][] =>
    contents(
      responses,
      findSpans(tokens, { shape, lengths, start: [start], end: [end], includeEnd: "none", ...backend }),
    );
  const steps = between(STEP, STEP_END);
  const answers = between(ANSWER, ANSWER_END);
  return Float64Array.from(problems, ({ results }, row) => {
    const given = [soleDigit(steps[row]![0]), soleDigit(steps[row]![1]), soleDigit(answers[row]![0])];
    const inForm = given.filter((digit) => digit !== undefined).length;
    const rightSteps = [0, 1].filter((i) => given[i] === results[i]).length;
    const tenths = FORMAT * inForm + RIGHT_STEP * rightSteps + (given[2] === results[2] ? RIGHT_ANSWER : -RIGHT_ANSWER);
    return tenths / 10;
  });
}
