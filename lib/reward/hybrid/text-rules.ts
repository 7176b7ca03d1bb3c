// A response judged by its text alone: +1 or −1.
import { normalizeMathText } from "../extraction/normalize-math";
import { numberAnswer } from "../extraction/number-answer";
import type { RewardResult } from "../reward-function";
import { isPython } from "./python-syntax";

/** How a text earns +1 or −1 by its form. */
export interface HybridConventions {
  /** Where the answer of a mathematical response is looked for, in order: behind `####`, or in the last box, cut at its first `}`. */
  readonly answers: readonly ("marker" | "box")[];
  /** Whether answer and truth are rewritten to plain notation before they are compared. */
  readonly normalize: boolean;
  /**
   * What counts beside equality: the truth inside the `"answer"`, the truth anywhere in the `"text"`, or an answer of more than 3
   * characters inside the `"truth"`.
   */
  readonly contained: readonly ("answer" | "text" | "truth")[];
  /** What code has to have: `"def"`, the letters `def `; or `"syntax"`: it parses as Python, and defines and returns or prints. */
  readonly code: "def" | "syntax";
}

const verdict = (right: boolean, reason: string): RewardResult => ({ reward: right ? 1 : -1, reason });

/** The last box, cut at its first closing brace. */
const cutBox = (text: string): string | null => [...text.matchAll(/\\boxed\{(.*?)\}/g)].at(-1)?.[1] ?? null;

function answerOf(text: string, sources: HybridConventions["answers"]): string | null {
  for (const source of sources) {
    const answer = source === "marker" ? numberAnswer(text) : cutBox(text);
    if (answer !== null) return answer;
  }
  return null;
}

export function judgeMathText(text: string, truth: string, rules: HybridConventions): RewardResult {
  const form = (part: string): string => (rules.normalize ? normalizeMathText(part) : part.trim());
  const given = answerOf(text, rules.answers);
  const answer = given === null ? null : form(given);
  const wanted = form(truth);
  if (answer !== null) {
    if (answer === wanted) return verdict(true, "equal");
    if (rules.contained.includes("answer") && answer.includes(wanted)) return verdict(true, "truth in answer");
    if (rules.contained.includes("truth") && answer.length > 3 && wanted.includes(answer))
      return verdict(true, "answer in truth");
  }
  if (rules.contained.includes("text") && text.includes(wanted)) return verdict(true, "truth in text");
  return verdict(false, answer === null ? "no answer" : "different");
}

const fenced = (text: string): string => /```python\s*([\s\S]*?)```/.exec(text)?.[1] ?? text;

export function judgeCodeText(op: string, text: string, rules: HybridConventions): RewardResult {
  if (rules.code === "def") return verdict(text.includes("def "), text.includes("def ") ? "has def" : "no def");
  const code = fenced(text);
  if (!code.includes("def ")) return verdict(false, "no def");
  if (!/return |print/.test(code)) return verdict(false, "neither returns nor prints");
  return isPython(op, code) ? verdict(true, "parses") : verdict(false, "syntax error");
}
