// KL to a reference policy per token, by the estimators that trainers use, as a loss of its own or inside a reward.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { needNumber, needWord } from "../core/option-checks";
import { layoutOfRows, needRows, type RowLayout } from "../core/row-layout";
import type { KlKind } from "../ops/loss";
import { evaluateKlEstimates } from "../ops/loss/kl-estimates";
import { rowMoments } from "../ops/reduce/moments";
import { type PresetOption, resolvePreset } from "../presets";
import { type KlPerToken, timesImportance } from "./importance-kl";
import type { KlClamps, KlTerm } from "./policy/policy-loss-options";

/** The names of trainers: `kl` is k1, `mse` is k2, `low_var_kl` is k3. A `+` takes the value of the name and the gradient of k2. */
const KINDS = {
  k1: { kind: "k1" },
  kl: { kind: "k1" },
  abs: { kind: "abs" },
  k2: { kind: "k2" },
  mse: { kind: "k2" },
  k3: { kind: "k3" },
  low_var_kl: { kind: "k3" },
  "k1+": { kind: "k1", gradientKind: "k2" },
  "kl+": { kind: "k1", gradientKind: "k2" },
  "abs+": { kind: "abs", gradientKind: "k2" },
  "k2+": { kind: "k2" },
  "mse+": { kind: "k2" },
  "k3+": { kind: "k3", gradientKind: "k2" },
  "low_var_kl+": { kind: "k3", gradientKind: "k2" },
} as const satisfies Record<string, { readonly kind: KlKind; readonly gradientKind?: KlKind }>;

const ESTIMATORS: readonly string[] = Object.keys(KINDS);

/** An estimator as trainers call it. */
export type KlEstimatorName = keyof typeof KINDS;

/** The choices in which frameworks differ. */
export interface KlPenaltyConventions {
  /** Clamps by estimator. Default: none. */
  readonly klClamps?: KlClamps;
}

export interface KlPenaltyOptions
  extends
    RowLayout,
    Pick<KlTerm, "logClamp" | "valueClamp">,
    KlPenaltyConventions,
    PresetOption<"klPenalty">,
    BackendOption {
  /** With d = ℓ − q: k1 d, abs |d|, k2 d²/2, k3 e^(−d) − 1 + d; or one of their other names. Default `"k3"`. */
  readonly estimator?: KlEstimatorName;
  /**
   * The estimate of a token that another policy drew is multiplied by exp(ℓ − these log-probs of it), `"self"`: exp(ℓ − stop-gradient(ℓ)),
   * which is 1 and adds the score-function part to the gradient. The value is clamped afterwards. Default: not multiplied.
   */
  readonly importance?: FloatArray | "self";
  /** 1 = a token of the policy; the others are not read and get 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface KlPenaltyResult {
  /** One estimate per token, nats; 0 under the mask. */
  readonly values: FloatArray;
  /** d values / d logProbs, per token; 0 under the mask and outside of a clamp. */
  readonly gradLogProbs: FloatArray;
  /** Σ of the row's values, float64, [rows]. */
  readonly rowSums: Float64Array;
  /** Mean over the kept tokens, nats; 0 without any. */
  readonly mean: number;
}

/**
 * Estimates of the KL of the policy to a reference, per token, and their derivative.
 *
 * k1 is unbiased for tokens of the policy itself, k3 too and never negative; as a loss, the gradient of k2 is the one that is right in
 * expectation, which the names with `+` give. Without `shape` and `offsets` the tokens are one row.
 *
 * @param logProbs ℓ under the policy, nats
 * @param referenceLogProbs q under the reference, nats; constants for the gradient
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman 2020, Approximating KL Divergence
 */
export function klPenalty(
  logProbs: FloatArray,
  referenceLogProbs: FloatArray,
  options: KlPenaltyOptions = {},
): KlPenaltyResult {
  const op = "klPenalty";
  const resolved = resolvePreset(op, options.preset, options);
  const layout =
    resolved.shape || resolved.offsets
      ? resolved
      : { shape: [1, (logProbs as FloatArray | undefined)?.length ?? 0] as const };
  const rows = needRows(op, layout);
  const mask = optionalMask(op, "mask", resolved.mask, rows.n, rows.meaning);
  const estimator = resolved.estimator ?? "k3";
  needWord<string>(op, "estimator", estimator, ESTIMATORS);
  const named = KINDS[estimator];
  const { logClamp, valueClamp, klClamps, backend } = resolved;
  const clamps = klClamps?.[named.kind];
  const bound = { min: 0, above: true, infinite: true } as const;
  const given = {
    logProbs: needFloats(op, "logProbs", logProbs, rows.n, rows.meaning),
    reference: needFloats(op, "referenceLogProbs", referenceLogProbs, rows.n, rows.meaning),
  };
  const { importance } = resolved;
  const base =
    importance === undefined || importance === "self"
      ? null
      : needFloats(op, "importance", importance, rows.n, rows.meaning);
  const held = {
    logClamp: needNumber(op, "logClamp", logClamp ?? clamps?.logClamp ?? Infinity, bound),
    valueClamp: needNumber(op, "valueClamp", valueClamp ?? clamps?.valueClamp ?? Infinity, bound),
  };
  const estimates = evaluateKlEstimates(op, given.logProbs, given.reference, {
    ...named,
    ...held,
    valueClamp: importance === undefined ? held.valueClamp : Infinity,
    ...layoutOfRows(rows),
    mask: mask ?? undefined,
    backend,
  });
  const kept = estimates.counts.reduce((sum, count) => sum + count, 0);
  const conclude = ({ values, gradLogProbs }: KlPerToken, rowSums: Float64Array): KlPenaltyResult => ({
    values,
    gradLogProbs,
    rowSums,
    mean: kept > 0 ? rowSums.reduce((sum, x) => sum + x, 0) / kept : 0,
  });
  if (importance === undefined) return conclude(estimates, estimates.rowSums);
  const corrected = timesImportance(estimates, given.logProbs, given.reference, base, held, mask);
  return conclude(corrected, rowMoments(op, corrected.values, { rows, mask }, backend).sums);
}
