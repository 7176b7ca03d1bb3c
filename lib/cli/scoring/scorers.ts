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

function needTests({ answer }: RewardInput, index: number): CodeTests {
  if (typeof answer === "object" && answer !== null) return answer;
  const message = `rollout ${index + 1} has no tests, which scorer code runs: meta.tests (or --answer FIELD) has to be {"io": [{"input", "output"}, …]} or {"assertions": […]}`;
  throw new SurprisalError("ERR_SURPRISAL_FILE", message, { name: "--answer", got: answer });
}

function needAnswer({ answer }: RewardInput, index: number): MathAnswer {
  const single = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";
  if (single(answer) || (Array.isArray(answer) && answer.every(single))) return answer;
  const message = `rollout ${index + 1} has no answer, which scorer math compares with: meta.answer (or --answer FIELD) has to be a text, a number or a list of them`;
  throw new SurprisalError("ERR_SURPRISAL_FILE", message, { name: "--answer", got: answer });
}

const SCORERS: Readonly<Record<string, RewardFunction>> = {
  math: (inputs, options) =>
    mathReward(
      inputs.map(({ completion }) => completion),
      inputs.map(needAnswer),
      options,
    ),
  code: (inputs, options) =>
    codeReward(
      inputs.map(({ completion }) => completion),
      inputs.map(needTests),
      options,
    ),
  egpo: (inputs) => hybridReward(inputs, { preset: "egpo" }),
  "egpo-first": (inputs) => hybridReward(inputs, { preset: "egpo-first" }),
};
export const SCORER_NAMES = ["route", ...Object.keys(SCORERS)];

/** @param name one of `SCORER_NAMES` */
export function scorerOf(name: string): RewardFunction {
  const { egpo: _, "egpo-first": __, ...routes } = SCORERS;
  return name === "route" ? routeRewards(routes, { otherwise: "math" }) : SCORERS[name]!;
}

export function needScorer({ args }: Call): string {
  const given = args.text("scorer");
  if (given === undefined)
    throw new UsageError(`--scorer is missing, expected one of ${SCORER_NAMES.join(", ")}`, { name: "--scorer" });
  return needName("--scorer", given, SCORER_NAMES);
}
