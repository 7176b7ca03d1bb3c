// Generated from native/include/surprisal/loss.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray, LogitArray } from "../../core/dtype";

/** A = advantage, g = d loss / d log_prob, x = log ratio (clamped where log_clamp says so), r = exp(x). srp_loss_form. */
export const LOSS_FORMS = [
  /** max(-A min(r, ratio_cap), -A clip(r, 1 - clip_low, 1 + clip_high)), for A < 0 at most -A dual_clip; g = -A r where the first is at least the second and nothing holds r, else 0. */
  "clip",
  /** -A log_prob; g = -A. */
  "linear",
  /** -w A log_prob, w = clip(min(r, ratio_cap), 1 - clip_low, 1 + clip_high) a constant; g = -w A; clipped where w differs from r. */
  "weighted",
  /** -A (4/t) sigmoid(z), z = t (r - 1), t = temperature_positive for A > 0, else temperature_negative; g = -4 A sigmoid(z) (1 - sigmoid(z)) r. */
  "sigmoid",
  /** -A r, on marked tokens + coefficient |x|; g = -A r, on marked tokens + coefficient sign(x). */
  "marked",
  /** -A min(log_prob, old_log_prob + ln(1 + clip_high)) for A > 0, else -A max(log_prob, old_log_prob + ln(1 - clip_low)); g = -A within the bound, else 0. */
  "bounded",
  /** 0.5 max((v - R)^2, (clip(v, u - clip_low, u + clip_high) - R)^2) of values v = log_prob, old values u = old_log_prob and returns R = A; g = v - R where the first is at least the second, else 0. */
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

/** s = log ratio of the row, S = exp(s); the clipped loss is that of SRP_LOSS_CLIP. The numbers go on where those of srp_loss_form end: a form says which it is. srp_row_form. */
export const ROW_FORMS = [
  /** the clipped loss at r = S for every term; g = through s, to every kept token. */
  "clip",
  /** the clipped loss at r = S once a row; g = through s, to every kept token. */
  "clipOnce",
  /** the clipped loss at r = S for every term; g = -A S to the term's own token, where not clipped. */
  "clipLocal",
  /** -mean(A) R once a row, R = exp(sum over terms of (n + ln factor) / d), n = min(x, clip_high) for A > 0, max(x, -clip_low) for A < 0, 0 for A = 0, d = terms (at least 1), or terms + count_epsilon where that is > 0, mean(A) = sum of A over terms / d, or A[b]. The clip widths are in log space; g = -mean(A) R / d to terms that are not clipped. */
  "geometric",
  /** -p A log_prob for every term, p = exp(l + k ln w - l w) a constant, 0 where infinite, ln w = clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k = shape_positive and l = rate_positive for A >= 0, else shape_negative and rate_negative. The logarithm of a factor [B] counts once; g = -p A. */
  "gamma",
  /** (coefficient s - A)^2 once a row; g = through s, to every kept token. */
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

/** d = log_prob - reference_log_prob. srp_kl_kind. */
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
  /** sum over kept tokens of their `ratios`, or of their row's. */
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
/** A value of each, in their order, by name: a loop over names takes much longer. */
export const namedLossFigures = <Value>(values: ArrayLike<Value>): { -readonly [Name in LossFigure]: Value } => ({
  total: values[0]!,
  loss: values[1]!,
  kl: values[2]!,
  kept: values[3]!,
  terms: values[4]!,
  clipped: values[5]!,
  limited: values[6]!,
  rowRatio: values[7]!,
  ratio: values[8]!,
  below: values[9]!,
  above: values[10]!,
  outside: values[11]!,
  outsidePositive: values[12]!,
  outsideNegative: values[13]!,
  logRatio: values[14]!,
  clampedLogRatio: values[15]!,
  absoluteLogRatio: values[16]!,
  squaredLogRatio: values[17]!,
  ratioK3: values[18]!,
});
/** the number of those above, which come with the loss; the others cost more. */
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
  /** > 0, 1 where not read: for A > 0 and for the others. */
  readonly temperaturePositive: number;
  /** > 0, 1 where not read: for A > 0 and for the others. */
  readonly temperatureNegative: number;
  /** of |x| on marked tokens; of s. */
  readonly coefficient: number;
  /** k and l where A >= 0. */
  readonly shapePositive: number;
  /** k and l where A >= 0. */
  readonly ratePositive: number;
  /** k and l where A < 0. */
  readonly shapeNegative: number;
  /** k and l where A < 0. */
  readonly rateNegative: number;
  /** >= 0, 0 = off: added to the number of terms. */
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

/** A form with the options that it reads. */
export type LossFormOptions =
  | {
      /** max(-A min(r, ratioCap), -A clip(r, 1 - clipLow, 1 + clipHigh)), for A < 0 at most -A dualClip; g = -A r where the first is at least the second and nothing holds r, else 0. */
      readonly form: "clip";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
      /** > 1, infinity = off. */
      readonly dualClip?: number;
    }
  | {
      /** -A log_prob; g = -A. */
      readonly form: "linear";
    }
  | {
      /** -w A log_prob, w = clip(min(r, ratioCap), 1 - clipLow, 1 + clipHigh) a constant; g = -w A; clipped where w differs from r. */
      readonly form: "weighted";
    }
  | {
      /** -A (4/t) sigmoid(z), z = t (r - 1), t = temperaturePositive for A > 0, else temperatureNegative; g = -4 A sigmoid(z) (1 - sigmoid(z)) r. */
      readonly form: "sigmoid";
      /** > 0, 1 where not read: for A > 0 and for the others. */
      readonly temperaturePositive: number;
      /** > 0, 1 where not read: for A > 0 and for the others. */
      readonly temperatureNegative: number;
    }
  | {
      /** -A r, on marked tokens + coefficient |x|; g = -A r, on marked tokens + coefficient sign(x). */
      readonly form: "marked";
      /** of |x| on marked tokens; of s. */
      readonly coefficient: number;
      /** [n]: 1 = a marked token. */
      readonly marks: Uint8Array;
    }
  | {
      /** -A min(log_prob, old_log_prob + ln(1 + clipHigh)) for A > 0, else -A max(log_prob, old_log_prob + ln(1 - clipLow)); g = -A within the bound, else 0. */
      readonly form: "bounded";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
    }
  | {
      /** 0.5 max((v - R)^2, (clip(v, u - clipLow, u + clipHigh) - R)^2) of values v = log_prob, old values u = old_log_prob and returns R = A; g = v - R where the first is at least the second, else 0. */
      readonly form: "squared";
    };
/** The names of what each reads beside the numbers of all. */
export const LOSS_FORM_OPTIONS: Readonly<
  Record<LossForm, { readonly needs: readonly string[]; readonly takes: readonly string[] }>
> = {
  clip: { needs: ["clipLow", "clipHigh"], takes: ["dualClip"] },
  linear: { needs: [], takes: [] },
  weighted: { needs: [], takes: [] },
  sigmoid: { needs: ["temperaturePositive", "temperatureNegative"], takes: [] },
  marked: { needs: ["coefficient", "marks"], takes: [] },
  bounded: { needs: ["clipLow", "clipHigh"], takes: [] },
  squared: { needs: [], takes: [] },
};

/** A form with the options that it reads. */
export type RowFormOptions =
  | {
      /** the clipped loss at r = S for every term; g = through s, to every kept token. */
      readonly form: "clip";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
      /** > 1, infinity = off. */
      readonly dualClip?: number;
    }
  | {
      /** the clipped loss at r = S once a row; g = through s, to every kept token. */
      readonly form: "clipOnce";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
      /** > 1, infinity = off. */
      readonly dualClip?: number;
    }
  | {
      /** the clipped loss at r = S for every term; g = -A S to the term's own token, where not clipped. */
      readonly form: "clipLocal";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
      /** > 1, infinity = off. */
      readonly dualClip?: number;
    }
  | {
      /** -mean(A) R once a row, R = exp(sum over terms of (n + ln factor) / d), n = min(x, clipHigh) for A > 0, max(x, -clipLow) for A < 0, 0 for A = 0, d = terms (at least 1), or terms + countEpsilon where that is > 0, mean(A) = sum of A over terms / d, or A[b]. The clip widths are in log space; g = -mean(A) R / d to terms that are not clipped. */
      readonly form: "geometric";
      /** >= 0, infinity = off. */
      readonly clipLow: number | FloatArray;
      /** >= 0, infinity = off. */
      readonly clipHigh: number | FloatArray;
      /** >= 0, 0 = off: added to the number of terms. */
      readonly countEpsilon?: number;
    }
  | {
      /** -p A log_prob for every term, p = exp(l + k ln w - l w) a constant, 0 where infinite, ln w = clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k = shapePositive and l = ratePositive for A >= 0, else shapeNegative and rateNegative. The logarithm of a factor [B] counts once; g = -p A. */
      readonly form: "gamma";
      /** k and l where A >= 0. */
      readonly shapePositive: number;
      /** k and l where A >= 0. */
      readonly ratePositive: number;
      /** k and l where A < 0. */
      readonly shapeNegative: number;
      /** k and l where A < 0. */
      readonly rateNegative: number;
    }
  | {
      /** (coefficient s - A)^2 once a row; g = through s, to every kept token. */
      readonly form: "squared";
      /** of |x| on marked tokens; of s. */
      readonly coefficient: number;
    };
/** The names of what each reads beside the numbers of all. */
export const ROW_FORM_OPTIONS: Readonly<
  Record<RowForm, { readonly needs: readonly string[]; readonly takes: readonly string[] }>
> = {
  clip: { needs: ["clipLow", "clipHigh"], takes: ["dualClip"] },
  clipOnce: { needs: ["clipLow", "clipHigh"], takes: ["dualClip"] },
  clipLocal: { needs: ["clipLow", "clipHigh"], takes: ["dualClip"] },
  geometric: { needs: ["clipLow", "clipHigh"], takes: ["countEpsilon"] },
  gamma: { needs: ["shapePositive", "ratePositive", "shapeNegative", "rateNegative"], takes: [] },
  squared: { needs: ["coefficient"], takes: [] },
};

/** What each number of srp_loss_parameters may be. */
export const LOSS_PARAMETERS = {
  clipLow: { min: 0, infinite: true },
  clipHigh: { min: 0, infinite: true },
  dualClip: { min: 1, above: true, infinite: true },
  ratioCap: { min: 0, above: true, infinite: true },
  logClamp: { min: 0, above: true, infinite: true },
  maxLogRatio: { min: 0, infinite: true },
  temperaturePositive: { min: 0, above: true },
  temperatureNegative: { min: 0, above: true },
  coefficient: {},
  shapePositive: {},
  ratePositive: {},
  shapeNegative: {},
  rateNegative: {},
  countEpsilon: { min: 0 },
} as const;
/** What `read` makes of what is said, of each. By name: a loop over names takes much longer. */
export const readLossParameters = (
  options: Partial<Record<keyof LossParameters, unknown>>,
  read: (name: keyof LossParameters, value: unknown) => number | undefined,
): LossParameters => ({
  clipLow: (options.clipLow === undefined ? undefined : read("clipLow", options.clipLow)) ?? Infinity,
  clipHigh: (options.clipHigh === undefined ? undefined : read("clipHigh", options.clipHigh)) ?? Infinity,
  dualClip: (options.dualClip === undefined ? undefined : read("dualClip", options.dualClip)) ?? Infinity,
  ratioCap: (options.ratioCap === undefined ? undefined : read("ratioCap", options.ratioCap)) ?? Infinity,
  logClamp: (options.logClamp === undefined ? undefined : read("logClamp", options.logClamp)) ?? Infinity,
  maxLogRatio: (options.maxLogRatio === undefined ? undefined : read("maxLogRatio", options.maxLogRatio)) ?? Infinity,
  temperaturePositive:
    (options.temperaturePositive === undefined
      ? undefined
      : read("temperaturePositive", options.temperaturePositive)) ?? 1,
  temperatureNegative:
    (options.temperatureNegative === undefined
      ? undefined
      : read("temperatureNegative", options.temperatureNegative)) ?? 1,
  coefficient: (options.coefficient === undefined ? undefined : read("coefficient", options.coefficient)) ?? 0,
  shapePositive: (options.shapePositive === undefined ? undefined : read("shapePositive", options.shapePositive)) ?? 0,
  ratePositive: (options.ratePositive === undefined ? undefined : read("ratePositive", options.ratePositive)) ?? 0,
  shapeNegative: (options.shapeNegative === undefined ? undefined : read("shapeNegative", options.shapeNegative)) ?? 0,
  rateNegative: (options.rateNegative === undefined ? undefined : read("rateNegative", options.rateNegative)) ?? 0,
  countEpsilon: (options.countEpsilon === undefined ? undefined : read("countEpsilon", options.countEpsilon)) ?? 0,
});

/** srp_loss_token_args. */
export interface LossTokenArgs {
  /** float32 or float64: of every float array that is not double below. */
  readonly dtype: DTypeCode;
  /** [n] log-probs of the policy (or values): what the gradient is for. */
  readonly logProbs: FloatArray;
  /** [oldLogProbsPerRow ? B : n] or null. */
  readonly oldLogProbs: FloatArray | null;
  /** [advantagesPerToken ? n : B]: advantages (or returns). */
  readonly advantages: FloatArray;
  /** [factorsPerToken ? n : B] or null = 1. */
  readonly factors: FloatArray | null;
  /** [clipLowsPerToken ? n : B] or null = parameters.clip_low. */
  readonly clipLows: FloatArray | null;
  /** [clipHighsPerToken ? n : B] or null = parameters.clip_high. */
  readonly clipHighs: FloatArray | null;
  /** [ratioCapsPerToken ? n : B] or null = parameters.ratio_cap. */
  readonly ratioCaps: FloatArray | null;
  /** [n] or null = no KL. */
  readonly referenceLogProbs: FloatArray | null;
  /** [B] or null = 1. */
  readonly rowWeights: Float64Array | null;
  /** [B] or null = rowWeights. */
  readonly klRowWeights: Float64Array | null;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [n] or null = every kept token. */
  readonly termMask: Uint8Array | null;
  /** [n] or null = none: 1 = a marked token. */
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
  /** 1: CLIP* and SQUARED of loss_row: s = (sum of logProbs - oldLogProbs[b]) / divisor, x is undefined and figures of x count s, once a row. */
  readonly oldLogProbsPerRow: number;
  readonly advantagesPerToken: number;
  readonly factorsPerToken: number;
  readonly clipLowsPerToken: number;
  readonly clipHighsPerToken: number;
  readonly ratioCapsPerToken: number;
  /** srp_ratio_reduction: how s is made; loss_row only. */
  readonly reduce: number;
  /** SRP_LOSS_SUMS or SRP_LOSS_FIGURES. */
  readonly figureCount: number;
  readonly parameters: LossParameters;
  readonly kl: KlParameters;
  /** [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED ? B : n] or null. */
  readonly losses: FloatArray | null;
  /** [form >= SRP_ROW_CLIP ? B : n] or null. */
  readonly ratios: FloatArray | null;
  /** [n] or null: v. */
  readonly klValues: FloatArray | null;
  /** [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED ? B : n] or null. */
  readonly clipped: Uint8Array | null;
  /** [n] or null. */
  readonly gradLogProbs: FloatArray | null;
  /** [B, figureCount] or null. */
  readonly figures: Float64Array | null;
}

export type LossRowArgs = LossTokenArgs;

/** srp_loss_logits_args. */
export interface LossLogitsArgs {
  /** float32, float16 or bfloat16: of logits and gradLogits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N]: 0 <= id < V. */
  readonly targets: Int32Array;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** [N] or null = logProbs. */
  readonly oldLogProbs: Float64Array | null;
  /** [N]. */
  readonly advantages: Float64Array;
  /** [N] or null = 1. */
  readonly factors: Float64Array | null;
  /** [N] or null = parameters.clip_low. */
  readonly clipLows: Float64Array | null;
  /** [N] or null = parameters.clip_high. */
  readonly clipHighs: Float64Array | null;
  /** [N] or null = parameters.ratio_cap. */
  readonly ratioCaps: Float64Array | null;
  /** [N] or null = no KL. */
  readonly referenceLogProbs: Float64Array | null;
  /** [N] or null = 1. */
  readonly weights: Float64Array | null;
  /** [N] or null = weights. */
  readonly klWeights: Float64Array | null;
  /** [N] or null = 0; a bonus is negative. */
  readonly entropyWeights: Float64Array | null;
  /** [N] or null = every kept token. */
  readonly termMask: Uint8Array | null;
  /** [N] or null = none: 1 = a marked token. */
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
  readonly logProbs: Float32Array | null;
  /** [N] or null. */
  readonly entropies: Float32Array | null;
  /** [N] or null. */
  readonly logSumExps: Float32Array | null;
  /** [N] or null. */
  readonly maxLogits: Float32Array | null;
  /** [N] or null. */
  readonly log1pSums: Float32Array | null;
  /** [N] or null. */
  readonly meanGaps: Float32Array | null;
  /** [N] or null. */
  readonly sumSquares: Float32Array | null;
  /** [N, stride], may be the memory of logits. */
  readonly gradLogits: LogitArray;
}

export interface LossOps {
  lossToken(args: LossTokenArgs): void;
  lossRow(args: LossRowArgs): void;
  lossLogits(args: LossLogitsArgs): void;
}
