// Problems in words and responses to them: numbers from a seeded generator, sentences from a small store. Nothing here comes from a
// language model.
import type { Random } from "../demo/random";

export interface Problem {
  readonly prompt: string;
  /** What is worked out, one after the other: the last result is the answer. */
  readonly works: readonly Work[];
}

interface Work {
  readonly left: number;
  readonly sign: "×" | "+" | "−";
  readonly right: number;
  readonly result: number;
  readonly of: string;
}

const THINGS = [
  ["crates", "apples"],
  ["shelves", "books"],
  ["trays", "seedlings"],
  ["boxes", "candles"],
  ["rows", "chairs"],
  ["bundles", "pencils"],
] as const;

const work = (left: number, sign: Work["sign"], right: number, of: string): Work => {
  const result = sign === "×" ? left * right : sign === "+" ? left + right : left - right;
  return { left, sign, right, result, of };
};

const pick = <T>(random: Random, list: readonly T[]): T => list[random.below(list.length)]!;

export function newProblem(random: Random): Problem {
  const [holder, thing] = pick(random, THINGS);
  const count = 3 + random.below(27);
  const each = 4 + random.below(45);
  const more = 5 + random.below(60);
  const gone = 2 + random.below(count * each);
  const first = work(count, "×", each, `${thing} in all ${holder}`);
  const second = work(first.result, "+", more, `${thing} after the delivery`);
  const third = work(second.result, "−", gone, `${thing} left`);
  const prompt = `A store has ${count} ${holder} with ${each} ${thing} each. Another ${more} ${thing} arrive, and ${gone} are sold.\nHow many ${thing} are left?`;
  return { prompt, works: [first, second, third] };
}

const OPENINGS = ["First,", "So", "Now", "Next,", "Then", "Let me see:", "We need the", "That gives"];
const DOUBTS = [
  "Wait, let me check that again.",
  "Hmm, is that right?",
  "Let me verify:",
  "Alternatively, count them one by one.",
];
const SURE = ["That is right.", "Good.", "This matches.", "So far so good."];

/** The way to one result in sentences; `slip` is added to it, `talk` sentences are put around it. */
export function stepText(random: Random, { left, sign, right, result, of }: Work, slip: number, talk: number): string {
  const sentences = [`${pick(random, OPENINGS)} the ${of}: ${left} ${sign} ${right} = ${result + slip}.`];
  if (sign === "×" && talk > 0) {
    const tens = Math.floor(right / 10) * 10;
    sentences.push(
      `${left} × ${tens} = ${left * tens} and ${left} × ${right - tens} = ${left * (right - tens)},\ntogether ${result + slip}.`,
    );
  }
  for (let i = 0; i < talk; ++i) sentences.push(pick(random, DOUBTS), pick(random, SURE));
  return ` ${sentences.join(" ")} `;
}

/** What a calculator that the policy called gave back. */
export const toolText = ({ left, sign, right, result }: Work): string =>
  `\n<tool> ${left} ${sign} ${right} = ${result} </tool>\n`;
