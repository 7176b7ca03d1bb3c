// What every policy loss reads: log-probs of three policies, advantages, and which tokens count.
import { needFloats, optionalFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";

/** What a policy loss reads beside the log-probs of the policy that learns. */
export interface PolicyInputs extends RowLayout {
  /** o: log-probs under the policy that the ratio is taken to, per token. Default: ℓ itself, as a constant: every ratio is 1. */
  readonly oldLogProbs?: FloatArray;
  /** A: one per row or one per token. Constants. */
  readonly advantages: FloatArray;
  /** What an advantage belongs to. Default: by the length of `advantages`; required where there are as many rows as tokens. */
  readonly advantagesPer?: Per;
  /** q: log-probs under the reference policy, per token. Needed by `kl`. */
  readonly referenceLogProbs?: FloatArray;
  /** u: log-probs of the sampler that made the rollouts, per token. For metrics alone. */
  readonly samplerLogProbs?: FloatArray;
  /** Constants that multiply the policy term, one per row or per token: weights for rollouts of another sampler. Default: 1. */
  readonly rolloutWeights?: FloatArray;
  /** What a weight belongs to. Default: by the length of `rolloutWeights`. */
  readonly rolloutWeightsPer?: Per;
  /** 1 = a token of the policy; the others are not read and get gradient 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** 1 = a token whose policy term counts. KL, entropy and metrics see every kept token. Default: all kept ones. */
  readonly termMask?: Uint8Array;
  /** 1 = a row whose policy term counts, [rows]. Default: all. The others keep their place in the aggregation, and their KL. */
  readonly rowMask?: Uint8Array;
}

/** Per-token arrays have [n] elements, as `shape` or `offsets` say. Log-probs in nats. */
export interface PolicyBatch extends PolicyInputs {
  /** ℓ: log-probs under the policy that learns, per token. The gradient is for these. */
  readonly logProbs: FloatArray;
  /** Entropies per token, nats. Needed by `entropyBonus`; their mean is a metric. */
  readonly entropies?: FloatArray;
}

/** Of a loss of one term a row: `oldLogProbs` per token, or their sums per row. */
export interface WholeRowsBatch extends PolicyBatch {
  /** Log-prob of each whole row under the old policy, [rows]. Give these or `oldLogProbs`. */
  readonly oldSequenceLogProbs?: FloatArray;
}

export interface CheckedPolicyInputs {
  readonly rows: Rows;
  readonly mask: Uint8Array | null;
  readonly oldLogProbs: FloatArray | null;
  readonly advantages: PerRowOrToken;
  readonly referenceLogProbs: FloatArray | null;
  readonly samplerLogProbs: FloatArray | null;
  readonly rolloutWeights: PerRowOrToken | null;
  readonly termMask: Uint8Array | null;
  readonly rowMask: Uint8Array | null;
}

export interface CheckedPolicyBatch extends CheckedPolicyInputs {
  readonly logProbs: FloatArray;
  readonly entropies: FloatArray | null;
}

/** Every array checked; nothing is computed. */
export function needPolicyBatch(op: string, batch: PolicyBatch): CheckedPolicyBatch {
  const inputs = needPolicyInputs(op, batch);
  const { n, meaning } = inputs.rows;
  return {
    ...inputs,
    logProbs: needFloats(op, "logProbs", batch.logProbs, n, meaning),
    entropies: optionalFloats(op, "entropies", batch.entropies, n, meaning),
  };
}

/** As needPolicyBatch, where log-probs and entropies are yet to come. */
export function needPolicyInputs(op: string, batch: PolicyInputs): CheckedPolicyInputs {
  const rows = needRows(op, batch);
  const { n, B, meaning } = rows;
  return {
    rows,
    mask: optionalMask(op, "mask", batch.mask, n, meaning),
    oldLogProbs: optionalFloats(op, "oldLogProbs", batch.oldLogProbs, n, meaning),
    advantages: needPerRowOrToken(op, "advantages", batch.advantages, rows, batch.advantagesPer),
    referenceLogProbs: optionalFloats(op, "referenceLogProbs", batch.referenceLogProbs, n, meaning),
    samplerLogProbs: optionalFloats(op, "samplerLogProbs", batch.samplerLogProbs, n, meaning),
    rolloutWeights: batch.rolloutWeights
      ? needPerRowOrToken(op, "rolloutWeights", batch.rolloutWeights, rows, batch.rolloutWeightsPer)
      : null,
    termMask: optionalMask(op, "termMask", batch.termMask, n, meaning),
    rowMask: optionalMask(op, "rowMask", batch.rowMask, B, "one per row"),
  };
}

/** The batch of a loss of one term a row, which takes advantages and weights per row only. */
export function needWholeRows(op: string, batch: PolicyBatch): CheckedPolicyBatch {
  for (const name of ["advantagesPer", "rolloutWeightsPer"] as const)
    if (batch[name] !== undefined) needWord<string>(op, name, batch[name], ["row"]);
  return needPolicyBatch(op, { ...batch, advantagesPer: "row", rolloutWeightsPer: "row" });
}

/** The sums of such a batch, or null where its old log-probs are per token. */
export function optionalSums(op: string, batch: WholeRowsBatch, { rows }: CheckedPolicyBatch): FloatArray | null {
  return optionalFloats(op, "oldSequenceLogProbs", batch.oldSequenceLogProbs, rows.B, "one per row");
}
