// Answers of several ranks as one.
import type { Answer } from "./users";

/** The answers of all ranks as one. What all share must be equal on each. */
export function joined(answers: readonly Answer[]): Answer {
  const own: Record<string, number[]> = {};
  for (const answer of answers)
    for (const [name, values] of Object.entries(answer.own)) (own[name] ??= []).push(...Array.from(values));
  for (const answer of answers) expect(answer.shared).toEqual(answers[0]!.shared);
  return { own, shared: answers[0]!.shared };
}

export const plain = (own: Answer["own"]): Record<string, number[]> =>
  Object.fromEntries(Object.entries(own).map(([name, values]) => [name, Array.from(values)]));
