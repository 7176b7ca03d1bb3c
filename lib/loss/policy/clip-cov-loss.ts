// Clip-Cov: PPO that leaves a few tokens of high covariance out, drawn at random.
import { needInt32 } from "../../core/arrays";
import { optionError, rangeError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { integersBelow } from "../../core/random";
import { layoutOfRows } from "../../core/row-layout";
import { evaluateCovarianceMask } from "../../ops/select/covariance-mask";
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import { type ClipRange, needClipRange } from "./clip-range";
import { evaluatePolicy, type FormCall, policyResult } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";

export type ClipCovLossOptions = PolicyLossOptions &
  ClipRange &
  PresetOption<"clipCovLoss"> & {
    /** Share of the kept tokens that is left out, at least one token; in [0, 1]. Default 2e-4. */
    readonly share?: number;
    /** Candidates have a covariance between these. Default [1, 5]. */
    readonly between?: readonly [low: number, high: number];
    /** Seed of the draw among the candidates, an integer in [0, 2^32). Give this or `permutation`. */
    readonly seed?: number;
    /** Order in which candidates are taken, row by row: the first ones are left out. */
    readonly permutation?: Int32Array;
  };

export interface ClipCovLossResult extends PolicyLossResult {
  /** 1 = a token that was left out, [n]. */
  readonly dropped: Uint8Array;
}

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "tokens" } as const;

/** Draws `count` of 0 … candidates − 1 without replacement: the beginning of a Fisher-Yates shuffle. */
function drawn(candidates: number, count: number, seed: number): Int32Array {
  const order = Int32Array.from({ length: candidates }, (_, i) => i);
  const words = integersBelow(2 ** 32, seed);
  for (let i = 0; i < count; ++i) {
    const j = i + Math.floor((words() / 2 ** 32) * (candidates - i));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order.subarray(0, count);
}

function needOrder(
  op: string,
  { seed, permutation }: ClipCovLossOptions,
  candidates: number,
  count: number,
): Int32Array {
  if ((seed === undefined) === (permutation === undefined))
    throw optionError(op, "seed", seed, "an integer in [0, 2^32), or permutation, not both: candidates are drawn");
  if (permutation === undefined)
    return drawn(candidates, count, needNumber(op, "seed", seed, { min: 0, max: 2 ** 32 - 1, integer: true }));
  const order = needInt32(op, "permutation", permutation, candidates, "the candidates");
  const seen = new Uint8Array(candidates);
  order.forEach((place, i) => {
    if (place < 0 || place >= candidates || seen[place] !== 0)
      throw rangeError(op, `permutation[${i}]`, place, `each of 0..${candidates - 1} once`);
    seen[place] = 1;
  });
  return order.subarray(0, count);
}

/** The flagged tokens at these places among all flagged ones. */
function chosen(flags: Uint8Array, places: Int32Array): Uint8Array {
  const wanted = new Set(places);
  const result = new Uint8Array(flags.length);
  let place = 0;
  flags.forEach((flag, i) => {
    if (flag !== 0 && wanted.has(place++)) result[i] = 1;
  });
  return result;
}

/**
 * Clip-Cov's policy loss and its gradient: `ppoLoss` without a random few of the tokens whose log-prob and advantage move together.
 *
 *     cov_bt = (A − mean A)·(ℓ − mean ℓ) over kept tokens;   candidates: low < cov < high and not clipped
 *     n = max(⌊share·N⌋, 1) candidates, or all there are, add nothing and have no gradient; they keep their weight in the mean
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument; _VALUE
 *   for a kept log-prob or advantage that is not finite
 * @see Cui et al. 2025, The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models (Clip-Cov)
 */
export function clipCovLoss(batch: PolicyBatch, options: ClipCovLossOptions): ClipCovLossResult {
  const op = "clipCovLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const share = needNumber(op, "share", resolved.share ?? 2e-4, { min: 0, max: 1 });
  const form: FormCall = { skeleton: "token", form: { form: "clip", ...needClipRange(op, resolved) } };
  const checked = needPolicyBatch(op, batch);
  const plain = evaluatePolicy(op, checked, resolved, form);
  const { selected, count } = evaluateCovarianceMask(op, checked.logProbs, checked.advantages.array, {
    ...layoutOfRows(checked.rows),
    mask: checked.mask ?? undefined,
    advantagesPer: checked.advantages.perToken ? "token" : "row",
    between: resolved.between ?? [1, 5],
    countEpsilon: 1e-8,
    excluded: plain.clipped,
    backend: resolved.backend,
  });
  const kept = plain.figures.kept;
  const n = Math.min(Math.max(Math.floor(share * kept), 1), count);
  const dropped = chosen(selected, needOrder(op, resolved, count, n));
  const evaluation = evaluatePolicy(
    op,
    { ...checked, termMask: dropped.map((flag, i) => (flag === 0 && (checked.termMask?.[i] ?? 1) !== 0 ? 1 : 0)) },
    resolved,
    form,
  );
  const result = policyResult(evaluation, resolved, METRICS);
  const { metricNames = "verl" } = resolved;
  const own: Record<string, number> =
    metricNames === "verl"
      ? { "actor/pg_clipfrac": n / (kept + 1e-8) }
      : metricNames === "skyrl"
        ? { clip_ratio: n / Math.max(kept, 1) }
        : {};
  const metrics = { ...result.metrics, ...own };
  return { ...result, metrics, dropped };
}
