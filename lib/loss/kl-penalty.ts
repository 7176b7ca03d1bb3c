// KL to a reference policy per token, by the estimators that trainers use, as a loss of its own or inside a reward.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { needRows, type RowLayout } from "../core/row-layout";
import type { KlKind } from "../ops/loss";
import { evaluateKl, keptOf, rowSumsOf } from "../ops/loss/kl-estimates";
import { needKlParameters } from "../ops/loss/loss-inputs";
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
  /** Reuse memory instead of allocating. Must not overlap the inputs; not with `importance`. */
  readonly out?: { readonly values?: FloatArray; readonly gradLogProbs?: FloatArray };
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

const BOUND = { min: 0, above: true, infinite: true } as const;

function needClamp(op: string, name: string, value: unknown): number {
  return value === undefined ? Infinity : needNumber(op, name, value, BOUND);
}

function total(values: Float64Array): number {
  let sum = 0;
  for (let b = 0; b < values.length; ++b) sum += values[b]!;
  return sum;
}

function conclude({ values, gradLogProbs }: KlPerToken, rowSums: Float64Array, kept: number): KlPenaltyResult {
  return { values, gradLogProbs, rowSums, mean: kept > 0 ? total(rowSums) / kept : 0 };
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
  const { kind, gradientKind = kind }: { readonly kind: KlKind; readonly gradientKind?: KlKind } = KINDS[estimator];
  const { klClamps, backend, importance, out } = resolved;
  const clamps = klClamps?.[kind];
  const policy = needFloats(op, "logProbs", logProbs, rows.n, rows.meaning);
  const reference = needFloats(op, "referenceLogProbs", referenceLogProbs, rows.n, rows.meaning);
  const logClamp = needClamp(op, "logClamp", resolved.logClamp ?? clamps?.logClamp);
  const valueClamp = needClamp(op, "valueClamp", resolved.valueClamp ?? clamps?.valueClamp);
  if (importance !== undefined && out !== undefined)
    throw optionError(op, "out", out, "nothing with importance: the estimates are no results then");
  const base =
    importance === undefined || importance === "self"
      ? null
      : needFloats(op, "importance", importance, rows.n, rows.meaning);
  const held = importance === undefined ? valueClamp : Infinity;
  const parameters = needKlParameters(op, "", { kind, gradientKind, logClamp, valueClamp: held });
  const where = { rows, mask };
  const kl = { reference, weights: null, parameters };
  const { values, gradLogProbs, sums } = evaluateKl(op, policy, where, kl, out, backend);
  const rowSums = rowSumsOf(sums);
  const kept = keptOf(sums);
  if (importance === undefined) return conclude({ values, gradLogProbs }, rowSums, kept);
  const corrected = timesImportance({ values, gradLogProbs }, policy, reference, base, { logClamp, valueClamp }, mask);
  return conclude(corrected, rowMoments(op, corrected.values, where, backend).sums, kept);
}
