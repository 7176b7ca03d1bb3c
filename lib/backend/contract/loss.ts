// Generated from native/include/surprisal/loss.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray, LogitArray } from "../../core/dtype";

/** A = advantage, l = loss, g = d l / d current, x = log ratio (clamped where log_clamp says so), r = exp(x). srp_loss_form. */
export const LOSS_FORMS = [
  /** max(-A r, -A clip(r)), with dual clip, ratio cap and clamped log ratio. */
  "clip",
  /** -A current; g = -A. */
  "linear",
  /** -w A current, w = clip(min(r, ratio_cap)) constant; g = -w A; clipped where w differs from r. */
  "weighted",
  /** -A f, f = 4/t sigmoid(t (r - 1)), t = temperature_positive for A > 0, else _negative. */
  "sigmoid",
  /** -A r, and on marked tokens + coefficient |x|, g + coefficient sign(x). */
  "marked",
  /** -A c, c = min(current, old + ln(1 + clip_high)) for A > 0, else max(current, old + ln(1 - clip_low)). */
  "bounded",
  /** 0.5 max((v - R)^2, (clip(v, old - clip_low, old + clip_high) - R)^2), v = current, R = advantage; g = v - R where the first is at least the second. */
  "squared",
] as const;
export type LossForm = (typeof LOSS_FORMS)[number];
/** The numbers of LOSS_FORMS. */
export const LOSS_FORM = {
  clip: 1,
  linear: 2,
  weighted: 3,
  sigmoid: 4,
  marked: 5,
  bounded: 6,
  squared: 7,
} as const satisfies Record<LossForm, number>;

/** s = log ratio of the row. The numbers go on where those of srp_loss_form end: a form says which it is. srp_row_form. */
export const ROW_FORMS = [
  /** SRP_LOSS_CLIP of s for every term; THROUGH, EACH. */
  "clip",
  /** SRP_LOSS_CLIP of s; THROUGH, ONCE; advantage [B]. */
  "clipOnce",
  /** SRP_LOSS_CLIP of s, but a token's gradient is its own: g = -A exp(s) where not clipped; EACH. */
  "clipLocal",
  /** n = min(x, clip_high) for A > 0, max(x, -clip_low) for A < 0, 0 for A = 0, over terms; R = exp(sum of (n + ln factor) / d); -mean(A) R, gradient to terms that are not clipped; ONCE. d by count_epsilon; mean(A) = sum of A over terms / d, or A[b]. clip widths are in log space. */
  "geometric",
  /** ln w = clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k and l by the sign of A (positive: A >= 0), p = exp(l + k ln w - l w), 0 where infinite; -p A current, g = -p A; EACH. factor [B]: its logarithm once. */
  "gamma",
  /** d = coefficient s - A; d^2; THROUGH, ONCE; advantage [B]. */
  "squared",
] as const;
export type RowForm = (typeof ROW_FORMS)[number];
/** The numbers of ROW_FORMS. */
export const ROW_FORM = {
  clip: 8,
  clipOnce: 9,
  clipLocal: 10,
  geometric: 11,
  gamma: 12,
  squared: 13,
} as const satisfies Record<RowForm, number>;

/** d = current - reference. srp_kl_kind. */
export const KL_KINDS = [
  /** d. */
  "k1",
  /** |d|. */
  "abs",
  /** d^2 / 2. */
  "k2",
  /** exp(-d) - 1 + d, as expm1(-d) + d. */
  "k3",
] as const;
export type KlKind = (typeof KL_KINDS)[number];
/** The numbers of KL_KINDS. */
export const KL_KIND = {
  k1: 1,
  abs: 2,
  k2: 3,
  k3: 4,
} as const satisfies Record<KlKind, number>;

/** srp_loss_figure: a word's place is its number. */
export const LOSS_FIGURES = [
  /** the row's part of the total, weights and KL included. */
  "total",
  /** sum of l over terms (ONCE forms: l), factor included, row_weight not. */
  "loss",
  /** sum of v over kept tokens, without coefficient and weight. */
  "kl",
  /** kept tokens. */
  "kept",
  /** terms. */
  "terms",
  /** kept tokens whose form says clipped; of a row that is, without kept tokens, 1. */
  "clipped",
  /** kept tokens whose form says limited (the dual clip); likewise. */
  "limited",
  /** loss_row: exp(s) after clamps, R (GEOMETRIC), p (GAMMA; the mean over terms where advantages are per token, 1 without a term). loss_token: largest ratio, -infinity if none. */
  "rowRatio",
  /** sum over kept tokens of what `ratio` says of the token, or of its row. */
  "ratio",
  /** kept tokens below the band with A < 0. */
  "below",
  /** kept tokens above the band with A > 0. */
  "above",
  /** kept tokens outside of the band, whatever A. */
  "outside",
  /** kept tokens outside of the band with A > 0. */
  "outsidePositive",
  /** kept tokens outside of the band with A < 0. */
  "outsideNegative",
  /** sum of x over kept tokens. */
  "logRatio",
  /** sum of x clamped to [-log_clamp, log_clamp]. */
  "clampedLogRatio",
  /** sum of |x|. */
  "absoluteLogRatio",
  /** sum of x^2. */
  "squaredLogRatio",
  /** sum of exp(x) - 1 - x. */
  "ratioK3",
] as const;
export type LossFigure = (typeof LOSS_FIGURES)[number];
/** as many figures come with the loss; the others cost operations of their own. */
export const LOSS_SUMS = 9;

/** srp_loss_parameters. */
export interface LossParameters {
  /** >= 0, infinity = off. */
  readonly clipLow: number;
  /** >= 0, infinity = off. */
  readonly clipHigh: number;
  /** > 1, infinity = off. */
  readonly dualClip: number;
  /** > 0, infinity = off. */
  readonly ratioCap: number;
  /** > 0, infinity = off: on x in forms of tokens with r, on s in forms of rows with exp(s), on every x of the sum in SRP_ROW_GAMMA; no gradient outside. LINEAR, BOUNDED, SQUARED and GEOMETRIC do not read it. */
  readonly logClamp: number;
  /** >= 0, infinity = off: the upper end alone, likewise. */
  readonly maxLogRatio: number;
  /** > 0: SRP_LOSS_SIGMOID. */
  readonly temperaturePositive: number;
  /** > 0: SRP_LOSS_SIGMOID. */
  readonly temperatureNegative: number;
  /** SRP_LOSS_MARKED: of |x| on marked tokens; SRP_ROW_SQUARED: of s. */
  readonly coefficient: number;
  /** SRP_ROW_GAMMA: k and lambda where A >= 0. */
  readonly shapePositive: number;
  /** SRP_ROW_GAMMA: k and lambda where A >= 0. */
  readonly ratePositive: number;
  /** and where A < 0. */
  readonly shapeNegative: number;
  /** and where A < 0. */
  readonly rateNegative: number;
  /** >= 0: SRP_ROW_GEOMETRIC divides by terms + epsilon where it is > 0, else by max(terms, 1). */
  readonly countEpsilon: number;
}

/** srp_kl_parameters. */
export interface KlParameters {
  /** srp_kl_kind; 0 where reference is null. */
  readonly kind: number;
  /** srp_kl_kind; 0 where reference is null. */
  readonly gradientKind: number;
  readonly timesRatio: number;
  readonly coefficient: number;
  /** > 0, infinity = off: on d. */
  readonly logClamp: number;
  /** > 0, infinity = off: on v. */
  readonly valueClamp: number;
}

/** srp_loss_token_args. */
export interface LossTokenArgs {
  /** float32 or float64: of every float array that is not double below. */
  readonly dtype: DTypeCode;
  /** [n] log-probs of the policy (or values): what the gradient is for. */
  readonly current: FloatArray;
  /** [oldPerRow ? B : n] or null. */
  readonly old: FloatArray | null;
  /** [advantagePerToken ? n : B]: advantages (or returns). */
  readonly advantage: FloatArray;
  /** [factorPerToken ? n : B] or null = 1. */
  readonly factor: FloatArray | null;
  /** [n] or null = no KL. */
  readonly reference: FloatArray | null;
  /** [B] or null = 1. */
  readonly rowWeight: Float64Array | null;
  /** [B] or null = rowWeight. */
  readonly klWeight: Float64Array | null;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [n] or null = every kept token. */
  readonly termMask: Uint8Array | null;
  /** [n] or null = none. */
  readonly marks: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null = identity; with groupOffsets only. */
  readonly members: Int32Array | null;
  /** [G + 1] or null = a row is on its own. */
  readonly groupOffsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  /** srp_loss_form in loss_token, srp_row_form in loss_row. */
  readonly form: number;
  /** 1: CLIP* and SQUARED of loss_row: s = (sum of current - old[b]) / divisor, x is undefined and figures of x count s, once a row. */
  readonly oldPerRow: number;
  readonly advantagePerToken: number;
  readonly factorPerToken: number;
  /** srp_ratio_reduction: how s is made; loss_row only. */
  readonly reduce: number;
  /** SRP_LOSS_SUMS or SRP_LOSS_FIGURES. */
  readonly figureCount: number;
  readonly parameters: LossParameters;
  readonly kl: KlParameters;
  /** [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED ? B : n] or null. */
  readonly loss: FloatArray | null;
  /** [form >= SRP_ROW_CLIP ? B : n] or null. */
  readonly ratio: FloatArray | null;
  /** [n] or null: v. */
  readonly klValues: FloatArray | null;
  /** [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED ? B : n] or null. */
  readonly clipped: Uint8Array | null;
  /** [n] or null. */
  readonly grad: FloatArray | null;
  /** [B, figureCount] or null. */
  readonly figures: Float64Array | null;
}

export type LossRowArgs = LossTokenArgs;

/** srp_loss_logits_args. */
export interface LossLogitsArgs {
  /** float32, float16 or bfloat16: of logits and grad. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N]: 0 <= id < V. */
  readonly targets: Int32Array;
  /** [N] or null. */
  readonly keep: Uint8Array | null;
  /** [N] or null = current. */
  readonly old: Float64Array | null;
  /** [N]. */
  readonly advantage: Float64Array;
  /** [N] or null = 1. */
  readonly factor: Float64Array | null;
  /** [N] or null = no KL. */
  readonly reference: Float64Array | null;
  /** [N] or null = 1. */
  readonly weight: Float64Array | null;
  /** [N] or null = weight. */
  readonly klWeight: Float64Array | null;
  /** [N] or null = 0; a bonus is negative. */
  readonly entropyWeight: Float64Array | null;
  /** [N] or null = every kept token. */
  readonly termMask: Uint8Array | null;
  /** [N] or null = none. */
  readonly marks: Uint8Array | null;
  /** independent rows. */
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  /** logprob.h. */
  readonly temperature: number;
  /** logprob.h. */
  readonly scale: number;
  /** logprob.h. */
  readonly softcap: number;
  /** srp_loss_form. */
  readonly form: number;
  readonly parameters: LossParameters;
  readonly kl: KlParameters;
  /** [N] or null. */
  readonly logprob: Float32Array | null;
  /** [N] or null. */
  readonly entropy: Float32Array | null;
  /** [N] or null. */
  readonly lse: Float32Array | null;
  /** [N] or null. */
  readonly maxLogit: Float32Array | null;
  /** [N] or null. */
  readonly log1pSum: Float32Array | null;
  /** [N] or null. */
  readonly meanGap: Float32Array | null;
  /** [N] or null. */
  readonly sumSq: Float32Array | null;
  /** [N, stride], may be the memory of logits. */
  readonly grad: LogitArray;
}

export interface LossOps {
  lossToken(args: LossTokenArgs): void;
  lossRow(args: LossRowArgs): void;
  lossLogits(args: LossLogitsArgs): void;
}
