// EGPO's hybrid reward: the ability of a task decides how its response is judged.
import { optionError } from "../../core/errors";
import { type PresetOption, presetOf } from "../../presets";
import type { RewardFunction, RewardInput, RewardResult } from "../reward-function";
import { judgeCodeText, judgeMathText } from "./text-rules";

export type HybridRewardOptions = Required<PresetOption<"hybridReward">>;

/** What an input without an ability counts as. */
const USUAL = "math";

function truthOf({ answer }: RewardInput): string {
  if (answer === undefined || answer === null) return "";
  return typeof answer === "string"
    ? answer
    : typeof answer === "number" || typeof answer === "bigint"
      ? String(answer)
      : JSON.stringify(answer);
}

/**
 * +1 or −1 by the text of a response alone, as EGPO's two revisions have it: `ability` "code" by its form, everything else as
 * mathematics. They compare texts and accept the truth inside a longer answer: for reproducing them. `mathReward` and `codeReward`,
 * joined by `routeRewards`, judge by value and by running.
 *
 * @param options `preset` `"egpo-first"` or `"egpo"`
 * @returns `reason` says which rule decided; a failure while judging is −1
 * @throws SurprisalError ERR_SURPRISAL_OPTION without a preset; ERR_SURPRISAL_PEER_MISSING without @lezer/python, where `"egpo"` judges code
 */
export function hybridReward(inputs: readonly RewardInput[], options: HybridRewardOptions): RewardResult[] {
  const op = "hybridReward";
  const rules = presetOf(op, options.preset);
  return inputs.map((input) => {
    const ability = input.ability ?? USUAL;
    const judged =
      ability === "code"
        ? judgeCodeText(op, input.completion, rules)
        : judgeMathText(input.completion, truthOf(input), rules);
    return { ...judged, details: { ability } };
  });
}

export interface RouteOptions {
  /** The route of an input whose ability is absent or has none of its own. Default `"math"`; null: its reward is NaN. */
  readonly otherwise?: string | null;
}

/**
 * One reward function out of several: each input goes to that of its `ability`. The functions run side by side, each with all of
 * its inputs at once; progress counts over all.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION if `otherwise` is no route, or a function returns another number of results
 */
export function routeRewards(
  routes: Readonly<Record<string, RewardFunction>>,
  options: RouteOptions = {},
): RewardFunction {
  const op = "routeRewards";
  const otherwise = options.otherwise === undefined ? USUAL : options.otherwise;
  if (otherwise !== null && !Object.hasOwn(routes, otherwise))
    throw optionError(op, "otherwise", otherwise, `one of ${Object.keys(routes).join(", ")}, or null`);
  return async (inputs, call = {}) => {
    const results = inputs.map(({ ability }): RewardResult => ({
      reward: NaN,
      reason: "no route",
      details: { ability },
    }));
    const members = new Map<string, number[]>();
    inputs.forEach(({ ability }, i) => {
      const route = ability !== undefined && Object.hasOwn(routes, ability) ? ability : otherwise;
      if (route !== null) members.set(route, [...(members.get(route) ?? []), i]);
    });
    const done = new Map<string, number>();
    const judge = async ([route, rows]: [string, number[]]): Promise<void> => {
      const onProgress = (count: number): void => {
        done.set(route, count);
        call.onProgress?.(
          [...done.values()].reduce((sum, part) => sum + part, 0),
          inputs.length,
        );
      };
      const own = await routes[route]!(
        rows.map((i) => inputs[i]!),
        { ...call, onProgress },
      );
      if (own.length !== rows.length)
        throw optionError(op, `results of ${route}`, own.length, `${rows.length}, one per input`);
      rows.forEach((i, k) => (results[i] = own[k]!));
    };
    await Promise.all([...members].map(judge));
    return results;
  };
}
