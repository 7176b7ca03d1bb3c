// Weights, rejection and diagnostics of one batch in one call.
import type { FloatArray } from "../../core/dtype";
import { type PresetOption, resolvePreset } from "../../presets";
import { compareMismatch } from "./mismatch-metrics";
import { type CorrectionMetrics, Mismatch, type RolloutOptions } from "./mismatch";
import { rejectMismatch, type RejectionRules } from "./rollout-rejection-mask";
import { weigh, type WeightRule } from "./rollout-weights";

/** What is corrected, and how. */
export interface CorrectionRules {
  /** As the options of `rolloutWeights`. Absent: no weights. */
  readonly weights?: WeightRule;
  /** As the options of `rolloutRejectionMask`. Absent: nothing is rejected. */
  readonly rejection?: RejectionRules;
}

export interface RolloutCorrectionOptions extends RolloutOptions, CorrectionRules, PresetOption<"rolloutCorrection"> {}

export interface RolloutCorrectionResult {
  /** One per token, or null without `weights`. They know nothing of the rejection: what is rejected is out of the mask. */
  readonly weights: FloatArray | null;
  /** 1 = learn from this token. Own memory. */
  readonly mask: Uint8Array;
  /** Those of the three functions, with `rollout_corr/` before each name. */
  readonly metrics: CorrectionMetrics;
}

/**
 * Corrects a batch for the distance between the policy that sampled and the one that learns: `rolloutWeights`,
 * `rolloutRejectionMask` and `mismatchMetrics` together; what they share is computed once.
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function rolloutCorrection(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: RolloutCorrectionOptions,
): RolloutCorrectionResult {
  const op = "rolloutCorrection";
  return correctMismatch(op, oldLogProbs, samplerLogProbs, resolvePreset(op, options.preset, options));
}

/** As rolloutCorrection, in the name of the public function `op` whose caller wrote rules and conventions under `at`. */
export function correctMismatch(
  op: string,
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: RolloutOptions & CorrectionRules,
  at = "",
): RolloutCorrectionResult {
  const batch = new Mismatch(op, oldLogProbs, samplerLogProbs, options, at);
  const weighed = options.weights && weigh(op, batch, options.weights, `${at}weights.`);
  const rejected = options.rejection && rejectMismatch(op, batch, options.rejection, `${at}rejection.`);
  const all = { ...weighed?.metrics, ...rejected?.metrics, ...compareMismatch(batch) };
  const metrics = Object.fromEntries(Object.entries(all).map(([name, value]) => [`rollout_corr/${name}`, value]));
  return { weights: weighed?.weights ?? null, mask: rejected?.mask ?? unchanged(batch), metrics };
}

function unchanged({ mask, rows }: Mismatch): Uint8Array {
  return mask ? mask.map((flag) => (flag === 0 ? 0 : 1)) : new Uint8Array(rows.n).fill(1);
}
