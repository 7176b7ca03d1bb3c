// What the losses of tokens and of rows are given, and what they return.
import type { KlKind, LossFigure } from "../../backend/contract/loss";
import type { BackendOption } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import type { DeviceFloatArray } from "../../core/device-array";
import type { DeviceSummary } from "../../core/device-summary";
import type { Anywhere, OnDevice } from "../../core/on-device";
import type { Per } from "../../core/per-row";
import type { RowLayout } from "../../core/row-layout";

/** A KL term beside the loss, from d = logProbs − referenceLogProbs. */
export interface LossKl {
  /** Log-probs of the reference model, nats, [n]. */
  readonly referenceLogProbs: FloatArray;
  /** The estimate v: `"k1"` d; `"abs"` |d|; `"k2"` d²/2; `"k3"` exp(−d) − 1 + d. */
  readonly kind: KlKind;
  /**
   * The estimator that gives the derivative. Another one than `kind` is "straight-through": value of the one, gradient of
   * the other, which no clamp of the value stops. Default: `kind`.
   */
  readonly gradientKind?: KlKind;
  /**
   * v is multiplied by the ratio of the new and old policy, which carries gradient too: the estimate of tokens that the old
   * policy sampled. Default false.
   */
  readonly timesRatio?: boolean;
  /** Multiplies the term. Default 1. */
  readonly coefficient?: number;
  /** Weight of each row's sum, [rows]. Default: `rowWeights`. */
  readonly rowWeights?: FloatArray;
  /** d is clamped to ±logClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly logClamp?: number;
  /** v is clamped to ±valueClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly valueClamp?: number;
}

/** Arrays that a loss can return. */
export interface LossArrays {
  /** The loss of each token with its factor, [n], 0 where there is no term; [rows] for forms of one value a row. */
  readonly losses: FloatArray;
  /** exp of the log ratio within its clamps: [n], 0 under the mask; of rows [rows]. */
  readonly ratios: FloatArray;
  /** KL estimates, [n]; 0 under the mask. */
  readonly klValues: FloatArray;
  /** 1 where the clipping cut the gradient off, [n]; [rows] for `"clipOnce"` and `"squared"` of rows. */
  readonly clipped: Uint8Array;
  /** d total / d logProbs, [n]; 0 under the mask. */
  readonly gradLogProbs: FloatArray;
}

export type LossOutput = keyof LossArrays;

/** What a loss reads beside the log-probs. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface LossInputOptions extends RowLayout, BackendOption {
  /** Advantages, [n] or [rows]; constants for the gradient. (Returns, in the form of regression.) */
  readonly advantages: FloatArray;
  /** What an advantage belongs to. Default: by the length; as many rows as tokens leave that open, then it must be said. */
  readonly advantagesPer?: Per;
  /** Importance weights or others, [n] or [rows]; constants for the gradient. Default: 1. */
  readonly factors?: FloatArray;
  /** What a factor belongs to. Default: as advantagesPer. */
  readonly factorsPer?: Per;
  /** Weight of each row in the total, [rows]. Finite: an infinite one counts as NaN. Default: 1 each, so that the total is a plain sum. */
  readonly rowWeights?: FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** 1 = a kept token that enters the loss; KL and figures see all kept tokens. Default: all 1. */
  readonly termMask?: Uint8Array;
  /** Default: no KL term. */
  readonly kl?: LossKl;
}

/** Options of every loss. */
export interface LossOptions<Output extends LossOutput> extends LossInputOptions {
  /** Log-probs under the current policy, nats, [n]: what the gradient is for. (Values, in the form of regression.) */
  readonly logProbs: FloatArray;
  /** The arrays to return beside sums and figures. Default: `["gradLogProbs"]`. */
  readonly outputs?: readonly Output[];
  /** Reuse memory for them instead of allocating. Must not overlap the inputs. */
  readonly out?: Partial<LossArrays>;
}

/** Partial sums over the tokens of rows. */
export type LossFigures<Value> = Readonly<Record<LossFigure, Value>>;

/** What a loss adds up. */
export interface LossSummary {
  /** Σ_b rowWeights[b]·(Σ losses of row b) + kl.rowWeights[b]·coefficient·(Σ KL of row b), to be minimised; float64. */
  readonly total: number;
  /** Sums over the batch, in row order. `rowRatio` of tokens: the largest ratio, −Infinity without a token. */
  readonly figures: LossFigures<number>;
  /** The same of each row, [rows]. Views of one buffer where there are more than 8 rows. */
  readonly rowFigures: LossFigures<Float64Array>;
}

export type LossResult<Output extends LossOutput> = Pick<LossArrays, Output> & LossSummary;

/** As the result on the host, with the sums still on the device. */
export type DeviceLossResult<Output extends LossOutput> = OnDevice<Pick<LossArrays, Output>> & {
  readonly summary: DeviceSummary<LossSummary>;
};

/** Options of a loss whose log-probs lie on a device. */
export type DeviceLossOptions<Options extends { readonly logProbs: FloatArray; readonly kl?: LossKl }> =
  Options extends unknown
    ? Omit<Anywhere<Options>, "logProbs" | "kl"> & {
        readonly logProbs: DeviceFloatArray;
        readonly kl?: Anywhere<LossKl>;
      }
    : never;
