// The scorers by their names on a command line.
import {
  codeReward,
  type CodeTests,
  hybridReward,
  type MathAnswer,
  mathReward,
  type RewardFunction,
  type RewardInput,
  routeRewards,
} from "../../reward";
import { SurprisalError } from "../../core/errors";
import { needName } from "../shell/arguments";
import type { Call } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

function needTests({ answer }: RewardInput, place: number): CodeTests {
  if (typeof answer === "object" && answer !== null) return answer;
  const message = `rollout ${place + 1} has no tests, which scorer code runs: meta.tests (or --answer FIELD) has to be {"io": [{"input", "output"}, …]} or {"assertions": […]}`;
  throw new SurprisalError("ERR_SURPRISAL_FILE", message, { name: "--answer", got: answer });
}

function needAnswer({ answer }: RewardInput, place: number): MathAnswer {
  const single = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";
  if (single(answer) || (Array.isArray(answer) && answer.every(single))) return answer;
  const message = `rollout ${place + 1} has no answer, which scorer math compares with: meta.answer (or --answer FIELD) has to be a text, a number or a list of them`;
  throw new SurprisalError("ERR_SURPRISAL_FILE", message, { name: "--answer", got: answer });
}

/** `before`: rollouts before the first, for messages. */
const scorersAfter = (before: number): Readonly<Record<string, RewardFunction>> => ({
  math: (inputs, options) =>
    mathReward(
      inputs.map(({ completion }) => completion),
      inputs.map((input, index) => needAnswer(input, before + index)),
      options,
    ),
  code: (inputs, options) =>
    codeReward(
      inputs.map(({ completion }) => completion),
      inputs.map((input, index) => needTests(input, before + index)),
      options,
    ),
  egpo: (inputs) => hybridReward(inputs, { preset: "egpo" }),
  "egpo-first": (inputs) => hybridReward(inputs, { preset: "egpo-first" }),
});
export const SCORER_NAMES = ["route", ...Object.keys(scorersAfter(0))];

/**
 * @param name one of `SCORER_NAMES`
 * @param before rollouts that were judged before, by whose count messages go on
 */
export function scorerOf(name: string, before = 0): RewardFunction {
  const scorers = scorersAfter(before);
  const { egpo: _, "egpo-first": __, ...routes } = scorers;
  return name === "route" ? routeRewards(routes, { otherwise: "math" }) : scorers[name]!;
}

export function needScorer({ args }: Call): string {
  const given = args.text("scorer");
  if (given === undefined)
    throw new UsageError(`--scorer is missing, expected one of ${SCORER_NAMES.join(", ")}`, { name: "--scorer" });
  return needName("--scorer", given, SCORER_NAMES);
}
