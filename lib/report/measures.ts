// The numbers of a step that have a distribution, taken out of its rollouts. Tokens under the mask are not read.
import { tokenCount } from "../io/record";
import type { ReportRollout, ReportStep } from "./model";
import type { Measure } from "./summary";

const isKept = ({ mask }: ReportRollout, token: number): boolean => mask === undefined || mask[token] !== 0;

/** Tokens that the mask keeps; undefined for a rollout that is known as text only. */
export function lengthOf(rollout: ReportRollout): number | undefined {
  const count = tokenCount(rollout);
  if (count === undefined) return undefined;
  let length = 0;
  for (let token = 0; token < count; ++token) if (isKept(rollout, token)) ++length;
  return length;
}

const known = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** values[token] of every kept token. */
export function keptOf(rollout: ReportRollout, values: ArrayLike<number> | undefined): number[] {
  const kept: number[] = [];
  if (values === undefined) return kept;
  for (let token = 0; token < values.length; ++token) if (isKept(rollout, token)) kept.push(values[token]!);
  return kept;
}

/** One log-prob minus another at kept tokens where both are finite. */
export function differences(rollout: ReportRollout, left?: ArrayLike<number>, right?: ArrayLike<number>): number[] {
  if (left === undefined || right === undefined) return [];
  const subtracted = Array.from({ length: left.length }, (_, token) => left[token]! - right[token]!);
  return keptOf(rollout, subtracted).filter(Number.isFinite);
}

/** The ratios themselves, or those of the log-probs. */
export function ratiosOf({ ratios, newLogProbs, oldLogProbs }: ReportRollout): ArrayLike<number> | undefined {
  if (ratios !== undefined || newLogProbs === undefined || oldLogProbs === undefined) return ratios;
  return Float64Array.from({ length: newLogProbs.length }, (_, token) => Math.exp(newLogProbs[token]! - oldLogProbs[token]!));
}

/** All values of one measure in a step. */
export function valuesOf(measure: Measure, { rollouts }: ReportStep): Float64Array {
  const ofTokens = (values: (rollout: ReportRollout) => ArrayLike<number> | undefined): Float64Array => {
    const parts = rollouts.map((rollout) => keptOf(rollout, values(rollout)));
    const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
    let filled = 0;
    for (const part of parts) {
      all.set(part, filled);
      filled += part.length;
    }
    return all;
  };
  switch (measure) {
    case "reward":
      return Float64Array.from(rollouts.flatMap(({ reward }) => known(reward)));
    case "length":
      return Float64Array.from(rollouts.flatMap((rollout) => known(lengthOf(rollout))));
    case "entropy":
      return ofTokens(({ entropies }) => entropies);
    case "advantage":
      return ofTokens(({ advantages }) => advantages);
    case "ratio":
      return ofTokens(ratiosOf);
  }
}

/** Share of the rollouts that were cut, among those that say how they ended. */
export function truncatedShare(rollouts: readonly ReportRollout[]): number | null {
  const ended = rollouts.filter(({ finishReason }) => finishReason !== undefined);
  return ended.length === 0 ? null : ended.filter(({ finishReason }) => finishReason === "length").length / ended.length;
}

/** Share of kept tokens that were clipped, among those that say so. */
export function clippedShare(rollouts: readonly ReportRollout[]): number | null {
  const flags = rollouts.flatMap((rollout) => keptOf(rollout, rollout.clipped));
  return flags.length === 0 ? null : flags.filter((flag) => flag !== 0).length / flags.length;
}
