// The result of a policy loss, and the figures that its metrics are made of.
import type { FloatArray } from "../../core/dtype";
import type { Rows } from "../../core/row-layout";
import type { LossFigures } from "../../ops/loss";

/** What a policy loss returns. Arrays per token are 0 under the mask, in the widest float type of the inputs. */
export interface PolicyLossResult {
  /** The loss to minimise: policy term + KL penalty − entropy bonus, float64. */
  readonly loss: number;
  /** The policy term alone. */
  readonly policyLoss: number;
  /** The KL penalty, coefficient included; 0 without one. */
  readonly klLoss: number;
  /** −coefficient · Σ W·H; 0 without a bonus. */
  readonly entropyLoss: number;
  /** Scalars under the names of `metricNames`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** d loss / d logProbs, [n]. */
  readonly gradLogProbs: FloatArray;
  /** d loss / d entropies, [n]; only with an entropy bonus. */
  readonly gradEntropies?: FloatArray;
  /** The policy term before aggregation: per token, or per row for losses of whole rows. */
  readonly losses: FloatArray;
  /** Ratios, per token or per row. */
  readonly ratios: FloatArray;
  /** KL estimates per token; only with a KL term. */
  readonly kl?: FloatArray;
  /** 1 where clipping cuts the gradient off: per kept token, [n], or per row for losses that have one value a row and no other. */
  readonly clipped: Uint8Array;
  /** What a kept token of each row weighs, [rows]. */
  readonly rowWeights: Float64Array;
}

/** What metrics are made of. */
export interface Evaluation extends Omit<PolicyLossResult, "metrics"> {
  readonly rows: Rows;
  readonly mask: Uint8Array | null;
  /** Sums over the batch. */
  readonly figures: LossFigures<number>;
  /** The same of each row. */
  readonly rowFigures: LossFigures<Float64Array>;
  /** Mean of u − o over kept tokens, nats; null without sampler and old log-probs. */
  readonly samplerGap: number | null;
  /** Mean of o − ℓ over kept tokens where the ratio is not to o; else null, and in the figures. */
  readonly oldGap: number | null;
  /** Of all kept tokens, nats; null without entropies. */
  readonly meanEntropy: number | null;
  /** Null without a bonus. */
  readonly entropyCoefficient: number | null;
  /** What a kept token of each row weighs in the KL term. */
  readonly klRowWeights: Float64Array;
  /** What divided the weights because gradients of several batches are added. */
  readonly accumulation: number;
}
