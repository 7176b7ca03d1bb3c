// Advantages of a student that samples and is scored by a teacher (MiniLLM).
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { needNumber } from "../core/option-checks";
import { layoutOf, needRows, type RowLayout } from "../core/row-layout";
import { logRatio } from "../ops/ratio";
import { affine } from "../ops/reduce";
import { tailSums } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";

/** Advantages of a student from a teacher's log-probs. */
export interface MiniLlmConventions {
  /** A masked token is no step (`"skip"`), or a step that raises the power of γ (`"steps"`). Default `"skip"`. */
  readonly maskMode?: "skip" | "steps";
  /** What a masked step counts in the length, >= 0. Needs `"steps"`. Default 0. */
  readonly maskedWeight?: number;
}

export interface MiniLlmBatch extends RowLayout {
  /** Log-probs of the sampled tokens under the student, nats; [n] as `shape` or `offsets` say. */
  readonly studentLogProbs: FloatArray;
  /** The same tokens under the teacher. */
  readonly teacherLogProbs: FloatArray;
  /** 1 = a token of the response, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface MiniLlmAdvantageOptions extends MiniLlmConventions, PresetOption<"miniLlmAdvantage">, BackendOption {
  /** Discount in [0, 1]; 0: a token's reward is its advantage. */
  readonly gamma: number;
  /** Divides by the discounted number of tokens that follow. Default false. */
  readonly lengthNormalization?: boolean;
}

export interface MiniLlmAdvantageResult {
  /** Per token; 0 under the mask. */
  readonly advantages: FloatArray;
  /** teacher − student per token, nats; 0 under the mask. */
  readonly rewards: FloatArray;
}

/**
 * MiniLLM: what the teacher thinks of the rest of the response, in units of the student's own log-probs.
 *
 *     R_t = teacher_t − student_t at kept tokens
 *     A_t = Σ_{i ≥ t} γ^p(i)·R_i,   p(i) = steps before i in the row                  γ = 0: A_t = R_t
 *     lengthNormalization: divided by Σ_{i ≥ t} γ^p(i)·m_i,   m = 1 for kept tokens, `maskedWeight` for others
 *
 * The powers count from the start of the row; `discountedReturns` of the rewards has powers that count from the token.
 *
 * @returns in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Gu et al. 2024, MiniLLM: Knowledge Distillation of Large Language Models
 */
export function miniLlmAdvantage(batch: MiniLlmBatch, options: MiniLlmAdvantageOptions): MiniLlmAdvantageResult {
  const op = "miniLlmAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const gamma = needNumber(op, "gamma", resolved.gamma, { min: 0, max: 1 });
  const { n, meaning } = needRows(op, batch);
  const teacher = needFloats(op, "teacherLogProbs", batch.teacherLogProbs, n, meaning);
  const student = needFloats(op, "studentLogProbs", batch.studentLogProbs, n, meaning);
  const mask = optionalMask(op, "mask", batch.mask, n, meaning);
  const common = { ...layoutOf(batch), mask: mask ?? undefined, backend: options.backend };
  const { logRatios: rewards } = logRatio(teacher, student, { ...common, level: "token" });
  if (gamma === 0) return { advantages: rewards.slice(), rewards };
  const { maskMode, maskedWeight, lengthNormalization } = resolved;
  const tails = tailSums(rewards, {
    ...common,
    gamma,
    maskMode,
    maskedWeight,
    normalize: lengthNormalization === true,
  });
  // A masked step has a tail too, which is not an advantage.
  return { advantages: mask ? affine(tails, common) : tails, rewards };
}
