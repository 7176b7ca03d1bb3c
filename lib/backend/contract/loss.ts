// The loss ops as backends take them: native/include/surprisal/loss.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";
import type { LogitArray, LogitMapArgs, LogprobOutputs } from "./logprob";

/** Forms of a token's loss; their numbers in srp_loss_form are their places, from 1. */
export const TOKEN_FORMS = ["clip", "linear", "weighted", "sigmoid", "marked", "bounded", "squared"] as const;
export type TokenFormName = (typeof TOKEN_FORMS)[number];

/** Forms of a row's loss; their numbers in srp_row_form are their places, from 1. */
export const ROW_FORMS = ["clip", "clipOnce", "clipLocal", "geometric", "gamma", "squared"] as const;
export type RowFormName = (typeof ROW_FORMS)[number];

/** Estimators of a KL divergence; their numbers in srp_kl_form are their places, from 1. 0: no KL term. */
export const KL_KINDS = ["k1", "abs", "k2", "k3"] as const;
export type KlKind = (typeof KL_KINDS)[number];

/** Forms of rows whose value is one number a row. */
export const ONCE_FORMS: ReadonlySet<RowFormName> = new Set(["clipOnce", "geometric", "squared"]);

/** srp_loss_figure: what a row of `figures` holds. */
export const LOSS_FIGURES = [
  "total",
  "loss",
  "kl",
  "kept",
  "terms",
  "clipped",
  "limited",
  "below",
  "above",
  "outside",
  "logRatio",
  "clampedLogRatio",
  "absoluteLogRatio",
  "squaredLogRatio",
  "ratio",
  "ratioK3",
  "rowRatio",
  "outsidePositive",
  "outsideNegative",
] as const;
export type LossFigure = (typeof LOSS_FIGURES)[number];

export interface LossArgs {
  readonly dtype: DTypeCode;
  readonly current: FloatArray;
  readonly old: FloatArray | null;
  readonly advantage: FloatArray;
  readonly factor: FloatArray | null;
  readonly reference: FloatArray | null;
  readonly rowWeight: Float64Array | null;
  readonly klWeight: Float64Array | null;
  readonly mask: Uint8Array | null;
  readonly termMask: Uint8Array | null;
  readonly marks: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly form: number;
  /** 1: old has an entry per row, the sum of its tokens. */
  readonly oldPerRow: number;
  /** 1: an entry per token. 0: per row. */
  readonly advantagePerToken: number;
  readonly factorPerToken: number;
  readonly reduce: number;
  readonly klForm: number;
  readonly klSlopeForm: number;
  readonly klRatio: number;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip: number;
  readonly ratioCap: number;
  readonly logClamp: number;
  readonly maxLogRatio: number;
  readonly temperaturePositive: number;
  readonly temperatureNegative: number;
  readonly coefficient: number;
  readonly shapePositive: number;
  readonly ratePositive: number;
  readonly shapeNegative: number;
  readonly rateNegative: number;
  readonly countEpsilon: number;
  readonly klCoefficient: number;
  readonly klLogClamp: number;
  readonly klValueClamp: number;
  readonly loss: FloatArray | null;
  readonly ratio: FloatArray | null;
  readonly kl: FloatArray | null;
  readonly clipped: Uint8Array | null;
  readonly grad: FloatArray | null;
  /** [B, LOSS_FIGURES.length] */
  readonly figures: Float64Array | null;
}

/** What a form and the KL term read beside the tokens. */
export type LossNumbers = Pick<
  LossArgs,
  | "form"
  | "klForm"
  | "klSlopeForm"
  | "klRatio"
  | "clipLow"
  | "clipHigh"
  | "dualClip"
  | "ratioCap"
  | "logClamp"
  | "maxLogRatio"
  | "temperaturePositive"
  | "temperatureNegative"
  | "coefficient"
  | "klCoefficient"
  | "klLogClamp"
  | "klValueClamp"
>;

/** Arrays of [N], a token each; null: as in LossArgs. */
export interface LossLogitsArgs extends LossNumbers, LogitMapArgs, LogprobOutputs {
  readonly dtype: DTypeCode;
  /** [N, stride], of which the first V columns count. */
  readonly logits: LogitArray;
  readonly targets: Int32Array;
  /** 0 = not read. */
  readonly keep: Uint8Array | null;
  readonly old: Float64Array | null;
  readonly advantage: Float64Array;
  readonly factor: Float64Array | null;
  readonly reference: Float64Array | null;
  readonly weight: Float64Array | null;
  readonly klWeight: Float64Array | null;
  /** d total / d entropy. */
  readonly entropyWeight: Float64Array | null;
  readonly termMask: Uint8Array | null;
  readonly marks: Uint8Array | null;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  /** [N, stride]; may be the logits themselves. */
  readonly grad: LogitArray;
}

export interface LossOps {
  lossToken(args: LossArgs): void;
  lossRow(args: LossArgs): void;
  lossLogits(args: LossLogitsArgs): void;
}
