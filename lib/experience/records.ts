// The records of a step: what was sampled, and what came of it. Rows are responses; numbers per token are packed, one entry a
// response token; numbers per row are in the order of the rows.
import type { KlController } from "../control/kl-controller";
import type { FloatArray } from "../core/dtype";
import { rangeError } from "../core/errors";
import type { Prompt } from "./completion";
import type { GenerationStatistics } from "./generation";
import { lengthsOf, offsetsOf } from "../core/packed-rows";

/** Responses as they were sampled. */
export interface Samples<Data = unknown> {
  /** The prompts that `groups` numbers. */
  readonly prompts: readonly Prompt<Data>[];
  /** The prompt of each row. */
  readonly groups: Int32Array;
  /** Ids of the prompts, once for each row; row b is promptOffsets[b] … promptOffsets[b+1]. */
  readonly promptIds: Int32Array;
  readonly promptOffsets: Int32Array;
  /** Ids of the responses; row b is offsets[b] … offsets[b+1]. */
  readonly tokenIds: Int32Array;
  readonly offsets: Int32Array;
  /** 1 = the policy's token; per response token. */
  readonly mask: Uint8Array;
  /** Log-probs as the sampler had them, nats. Absent where it did not say them for every row. */
  readonly samplerLogProbs?: FloatArray;
  readonly texts: readonly (string | undefined)[];
  readonly finishReasons: readonly (string | undefined)[];
  /** 1 = cut before its end; per row. */
  readonly truncated: Uint8Array;
}

/** What the estimator of an experience returned: its weights, metrics and whatever else. */
export type EstimatorResult = Readonly<Record<string, unknown>> & {
  readonly advantages: FloatArray;
  readonly returns?: FloatArray;
};

/** Where the old log-probs come from: the policy's own numbers, its logits, or the sampler's. */
export type LogProbSource = "logProbs" | "logits" | "sampler";

/** Samples with all that training needs. Steps that were not asked for leave nothing behind. */
export interface Experience<Data = unknown> extends Samples<Data> {
  // Per response token.
  /** Of the policy that the update starts from, nats: the denominator of the ratio. Absent where they are not known. */
  readonly oldLogProbs?: FloatArray;
  readonly oldLogProbSource?: LogProbSource;
  /** Of the policy over its vocabulary, nats; where it gives logits. */
  readonly entropies?: FloatArray;
  readonly referenceLogProbs?: FloatArray;
  /** Estimate of the KL from the reference policy; 0 under the mask. */
  readonly kl?: FloatArray;
  /** The critic's V. */
  readonly values?: FloatArray;
  /** −β·kl, and the row's reward at the last kept token. */
  readonly tokenRewards?: FloatArray;
  /** Before the normalisation over the batch. */
  readonly estimatedAdvantages?: FloatArray;
  readonly advantages?: FloatArray;
  readonly returns?: FloatArray;

  // Per row.
  /** What each source said, unweighted; NaN where it was not asked or does not apply. */
  readonly sourceRewards: Readonly<Record<string, Float64Array>>;
  /** Why, where a source says it. */
  readonly sourceReasons: Readonly<Record<string, readonly (string | undefined)[]>>;
  /** The weighted sum of them. */
  readonly scores: Float64Array;
  /** The overlong penalty, <= 0. */
  readonly penalties?: Float64Array;
  /** After the shaping within groups. */
  readonly shapedRewards?: FloatArray;
  /** After the division by the running std. */
  readonly scaledRewards?: FloatArray;
  /** What is placed on the tokens: after all of the steps above, and the clip. */
  readonly rewards: FloatArray;
  /** Mean KL over the kept tokens. */
  readonly meanKls?: Float64Array;
  /** Σ of the token rewards. */
  readonly sequenceReturns?: FloatArray;

  // Per group.
  /** 0 = equal rewards (or as `dropGroups` says): the group teaches nothing. */
  readonly keptGroups: Uint8Array;

  /** Shares that the clips changed, measured before them. */
  readonly rewardClipFraction?: number;
  readonly advantageClipFraction?: number;
  /** The KL coefficient that was in force. */
  readonly klCoefficient?: number;
  /** The KL controller behind this experience, where there is one: the next one begins with it. */
  readonly klController?: KlController;
  /** All that an estimator beside the pipeline's returned: weights, metrics and the like, in the order of the rows as made. */
  readonly estimate?: EstimatorResult;
  readonly generation?: GenerationStatistics;
}

/** Fields with one entry per response token. */
export const TOKEN_FIELDS = [
  "mask",
  "samplerLogProbs",
  "oldLogProbs",
  "entropies",
  "referenceLogProbs",
  "kl",
  "values",
  "tokenRewards",
  "estimatedAdvantages",
  "advantages",
  "returns",
] as const satisfies readonly (keyof Experience)[];

/** Fields with one entry per row. */
const ROW_FIELDS = [
  "groups",
  "truncated",
  "scores",
  "penalties",
  "shapedRewards",
  "scaledRewards",
  "rewards",
  "meanKls",
  "sequenceReturns",
] as const satisfies readonly (keyof Experience)[];

/** Fields with one entry per row that are plain lists. */
const LIST_FIELDS = ["texts", "finishReasons"] as const satisfies readonly (keyof Experience)[];

/** How many rows a record has. */
export const rowCount = (samples: Pick<Samples, "offsets">): number => samples.offsets.length - 1;

/** Tokens of each response. */
export const responseLengths = (samples: Pick<Samples, "offsets">): Int32Array => lengthsOf(samples.offsets);

/** The entries at rows of a packed array, one row behind the other. */
function gatherPacked<A extends Int32Array | Uint8Array | FloatArray>(
  values: A,
  offsets: Int32Array,
  rows: readonly number[],
): A {
  const lengths = rows.map((b) => offsets[b + 1]! - offsets[b]!);
  const chosen = offsetsOf(lengths);
  const result = new (values.constructor as new (length: number) => A)(chosen[rows.length]!);
  rows.forEach((b, i) => {
    result.set(values.subarray(offsets[b], offsets[b + 1]), chosen[i]);
  });
  return result;
}

const chosenOffsets = (offsets: Int32Array, rows: readonly number[]): Int32Array =>
  offsetsOf(rows.map((b) => offsets[b + 1]! - offsets[b]!));

function mapEntries<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/**
 * The record of some rows, in the order given: for micro-batches, and to shuffle. Prompts keep their numbers; numbers per group and
 * of the whole batch stay.
 *
 * @param rows indices, each within the record; a row may be named twice
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a row that is not there
 */
export function selectRows<S extends Samples>(samples: S, rows: ArrayLike<number>): S {
  const B = rowCount(samples);
  const chosen = Array.from(rows, (b, i) => {
    if (!Number.isInteger(b) || b < 0 || b >= B)
      throw rangeError("selectRows", `rows[${i}]`, b, `an integer in 0..${B - 1}`);
    return b;
  });
  const from = samples as Partial<Experience> & Samples;
  const result: Record<string, unknown> = { ...from };
  for (const field of TOKEN_FIELDS) if (from[field]) result[field] = gatherPacked(from[field], from.offsets, chosen);
  for (const field of ROW_FIELDS) {
    const values = from[field];
    if (values)
      result[field] = gatherPacked(
        values,
        Int32Array.from({ length: B + 1 }, (_, b) => b),
        chosen,
      );
  }
  for (const field of LIST_FIELDS) result[field] = chosen.map((b) => from[field][b]);
  if (from.sourceRewards)
    result["sourceRewards"] = mapEntries(from.sourceRewards, (values) => Float64Array.from(chosen, (b) => values[b]!));
  if (from.sourceReasons)
    result["sourceReasons"] = mapEntries(from.sourceReasons, (reasons) => chosen.map((b) => reasons[b]));
  return {
    ...result,
    promptIds: gatherPacked(from.promptIds, from.promptOffsets, chosen),
    promptOffsets: chosenOffsets(from.promptOffsets, chosen),
    tokenIds: gatherPacked(from.tokenIds, from.offsets, chosen),
    offsets: chosenOffsets(from.offsets, chosen),
  } as unknown as S;
}
