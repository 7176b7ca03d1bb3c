// The numbers of a step that have a distribution, taken out of its rollouts. Tokens under the mask are not read.
import { finiteValues, keptValues } from "../core/kept-values";
import { joinRows, offsetsOf } from "../core/packed-rows";
import { tokenCount } from "../io/record";
import type { ReportRollout, ReportStep } from "./model";
import type { Measure } from "./summary";

/** Tokens that the mask keeps; undefined for a rollout that is known as text only. */
export function lengthOf(rollout: ReportRollout): number | undefined {
  const count = tokenCount(rollout);
  if (count === undefined) return undefined;
  return rollout.mask ? rollout.mask.reduce((length, flag) => length + (flag === 0 ? 0 : 1), 0) : count;
}

const known = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

type Numbers = ArrayLike<number> | undefined;

/** values[token] of every kept token, the values themselves where all are kept; none where the rollout has no such values. */
export function keptOf({ mask }: ReportRollout, values: Numbers): ArrayLike<number> {
  if (values === undefined) return [];
  return mask === undefined ? values : keptValues(values, mask);
}

/** values[token] of every kept token of all rollouts. */
export function keptOfAll(
  rollouts: readonly ReportRollout[],
  values: (rollout: ReportRollout) => Numbers,
): Float64Array {
  const rows = rollouts.map((rollout) => keptOf(rollout, values(rollout)));
  const offsets = offsetsOf(rows.map(({ length }) => length));
  return joinRows(rows, offsets, new Float64Array(offsets.at(-1)!));
}

/** One log-prob minus another at the kept tokens of all rollouts where both are finite. */
export function differencesOf(
  rollouts: readonly ReportRollout[],
  left: (rollout: ReportRollout) => Numbers,
  right: (rollout: ReportRollout) => Numbers,
): Float64Array {
  const both = rollouts.filter((rollout) => left(rollout) !== undefined && right(rollout) !== undefined);
  const [minuends, subtrahends] = [keptOfAll(both, left), keptOfAll(both, right)];
  return finiteValues(minuends.map((value, token) => value - subtrahends[token]!));
}

/** The ratios themselves, or those of the log-probs. */
export function ratiosOf({ ratios, logProbs, oldLogProbs }: ReportRollout): ArrayLike<number> | undefined {
  if (ratios !== undefined || logProbs === undefined || oldLogProbs === undefined) return ratios;
  return Float64Array.from({ length: logProbs.length }, (_, token) => Math.exp(logProbs[token]! - oldLogProbs[token]!));
}

/** All values of one measure in a step. */
export function valuesOf(measure: Measure, { rollouts }: ReportStep): Float64Array {
  switch (measure) {
    case "reward":
      return Float64Array.from(rollouts.flatMap(({ reward }) => known(reward)));
    case "length":
      return Float64Array.from(rollouts.flatMap((rollout) => known(lengthOf(rollout))));
    case "entropy":
      return keptOfAll(rollouts, ({ entropies }) => entropies);
    case "advantage":
      return keptOfAll(rollouts, ({ advantages }) => advantages);
    case "ratio":
      return keptOfAll(rollouts, ratiosOf);
  }
}

/** Share of the rollouts that were cut, among those that say how they ended. */
export function truncatedShare(rollouts: readonly ReportRollout[]): number | null {
  const ended = rollouts.filter(({ finishReason }) => finishReason !== undefined);
  return ended.length === 0
    ? null
    : ended.filter(({ finishReason }) => finishReason === "length").length / ended.length;
}

/** Share of kept tokens that were clipped, among those that say so. */
export function clippedShare(rollouts: readonly ReportRollout[]): number | null {
  let [tokens, clipped] = [0, 0];
  for (const rollout of rollouts) {
    const flags = keptOf(rollout, rollout.clipped);
    tokens += flags.length;
    for (let token = 0; token < flags.length; ++token) clipped += flags[token] === 0 ? 0 : 1;
  }
  return tokens === 0 ? null : clipped / tokens;
}

/** Mean of what modulation multiplied spans by. */
export function spanScaleOf({ rollouts }: ReportStep): number | null {
  const scales = rollouts.flatMap(({ spans = [] }) => spans.flatMap(({ scale }) => known(scale)));
  return scales.length === 0 ? null : scales.reduce((sum, scale) => sum + scale, 0) / scales.length;
}
