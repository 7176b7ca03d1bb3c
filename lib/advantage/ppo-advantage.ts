// From scores, log-probs and a critic to what a PPO step needs: rewards per token, advantages, returns.
import type { BackendOption } from "../backend/select";
import { needFloats, needIds, optionalMask, type TokenIds } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat, widestFloat } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { layoutOf, needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { groupPlace } from "../ops/group";
import { whiten } from "../ops/reduce";
import { gae, type MaskMode } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import { type KlEstimator, tokenKl } from "./token-kl";

export type { KlEstimator } from "./token-kl";

/** PPO's rewards, advantages and returns from scores and a critic. */
export interface PpoConventions {
  /**
   * Where the score of a row goes: to its `"last"` kept token, or to the position `"after"` it, where the end of the text has
   * a value of its own; to the last where the row has no position behind. Default `"last"`.
   */
  readonly scoreAt?: "last" | "after";
  /** What a masked token is to the scan, see `gae`. Default `"skip"`. */
  readonly maskMode?: MaskMode;
  /** Added to the variance when whitening, inside the root, >= 0. Default 1e-8. */
  readonly varianceEpsilon?: number;
}

/** Rollouts with a critic. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface PpoBatch extends RowLayout {
  /** One per row, from a reward model or a checker. */
  readonly scores: FloatArray;
  /** Log-probs of the tokens under the policy that sampled, nats. */
  readonly logProbs: FloatArray;
  /** The same tokens under the reference policy. */
  readonly referenceLogProbs: FloatArray;
  /** The critic's V. */
  readonly values: FloatArray;
  /** 1 = a token of the response. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Ids of the response, to see whether it ended. Needed by `missingEndPenalty`. */
  readonly tokens?: TokenIds;
}

export interface PpoAdvantageOptions
  extends PpoConventions, PresetOption<"ppoAdvantage">, BackendOption, CollectiveOption {
  /** Discount per token, in [0, 1]. */
  readonly gamma: number;
  /** As in `gae`, in [0, 1]. */
  readonly lambda: number;
  /** What a nat of KL costs, in units of the score. */
  readonly klCoefficient: number;
  /** How KL is estimated. Default `"k1"`. */
  readonly klEstimator?: KlEstimator;
  /** Scales the rewards per token to variance 1 over the batch, and keeps their mean. Default false. */
  readonly whitenRewards?: boolean;
  /** Subtracted from the score of a row in which `endToken` does not occur. Default 0. */
  readonly missingEndPenalty?: number;
  readonly endToken?: number;
}

/** Per token. */
export interface PpoAdvantageResult {
  /** Whitened over the kept tokens; 0 under the mask. */
  readonly advantages: FloatArray;
  /** What the critic learns: advantages before whitening + values. */
  readonly returns: FloatArray;
  /** −β·KL, and the score. */
  readonly rewards: FloatArray;
  /** The positions that have a value: the mask, and with `scoreAt: "after"` one position more in each row. */
  readonly valueMask: Uint8Array;
}

/** The mask, and in each row the position behind its last kept token; a row without kept tokens gets its first position. */
function withOneMore(rows: Rows, mask: Uint8Array | null): Uint8Array {
  const more = mask ? mask.slice() : new Uint8Array(rows.n).fill(1);
  for (let b = 0; b < rows.B; ++b) {
    let end = rowEnd(rows, b);
    while (end > rowBegin(rows, b) && more[end - 1] === 0) --end;
    if (end < rowEnd(rows, b)) more[end] = 1;
  }
  return more;
}

function endsMissing(op: string, rows: Rows, batch: PpoBatch, endToken: number | undefined): Uint8Array {
  if (endToken === undefined) throw optionError(op, "endToken", endToken, "an id where there is a missingEndPenalty");
  if (batch.tokens === undefined)
    throw optionError(op, "tokens", batch.tokens, "ids where there is a missingEndPenalty");
  const ids = needIds(op, "tokens", batch.tokens, rows.n, rows.meaning);
  return Uint8Array.from({ length: rows.B }, (_, b) =>
    ids.subarray(rowBegin(rows, b), rowEnd(rows, b)).includes(endToken) ? 0 : 1,
  );
}

/**
 * PPO's preparation of a batch:
 *
 *     reward[t] = −β·KL[t],  + score at the last kept token, or behind it
 *     whitenRewards: (reward − mean) / sqrt(var + ε) + mean
 *     advantages, returns = gae(reward, value);  advantages = (A − mean) / sqrt(var + ε) over the kept tokens, ddof 1
 *
 * In float64 up to the result; 0 under the mask, where no log-prob and no value is read.
 *
 * @param batch rollouts; `shape` or `offsets` say where their tokens lie
 * @returns in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences (KL penalty in the reward)
 */
export function ppoAdvantage(batch: PpoBatch, options: PpoAdvantageOptions): PpoAdvantageResult {
  const op = "ppoAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const rows = needRows(op, batch);
  const perToken = (name: "logProbs" | "referenceLogProbs" | "values"): FloatArray =>
    needFloats(op, name, batch[name], rows.n, rows.meaning);
  const scores = needFloats(op, "scores", batch.scores, rows.B, "one per row");
  const logProbs = perToken("logProbs");
  const referenceLogProbs = perToken("referenceLogProbs");
  const values = perToken("values");
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const behind = needWord(op, "scoreAt", resolved.scoreAt ?? "last", ["last", "after"]) === 1;
  const varianceEpsilon = needNumber(op, "varianceEpsilon", resolved.varianceEpsilon ?? 1e-8, { min: 0 });
  const beta = needNumber(op, "klCoefficient", resolved.klCoefficient);
  const penalty = needNumber(op, "missingEndPenalty", resolved.missingEndPenalty ?? 0);
  if (resolved.endToken !== undefined) needNumber(op, "endToken", resolved.endToken, { integer: true });
  const gamma = needNumber(op, "gamma", resolved.gamma, { min: 0, max: 1 });
  const lambda = needNumber(op, "lambda", resolved.lambda, { min: 0, max: 1 });
  const where = { ...layoutOf(batch), backend: options.backend };

  const missing = penalty !== 0 ? endsMissing(op, rows, batch, resolved.endToken) : null;
  const row = Float64Array.from(scores, (score, b) => (missing && missing[b] !== 0 ? score - penalty : score));
  const kl = tokenKl(op, logProbs, referenceLogProbs, resolved.klEstimator ?? "k1", { ...where, mask });
  const valueMask = behind ? withOneMore(rows, mask) : (mask?.slice() ?? new Uint8Array(rows.n).fill(1));
  const stretch = { ...where, mask: valueMask };
  const whitening = { over: "all", varianceEpsilon, collective: options.collective } as const;
  const placed = groupPlace({ row, values: kl }, { ...stretch, scale: -beta });
  const rewards =
    resolved.whitenRewards === true ? whiten(placed, { ...stretch, ...whitening, keepMean: true }) : placed;
  const { maskMode } = resolved;
  const estimate = gae(rewards, asFloat(values, "float64"), {
    ...stretch,
    gamma,
    lambda,
    maskMode,
  });
  const advantages = whiten(estimate.advantages, { ...where, ...whitening, mask: mask ?? undefined });

  const dtype = widestFloat(scores, logProbs, referenceLogProbs, values);
  const rounded = (array: FloatArray): FloatArray => (dtype === "float64" ? array : Float32Array.from(array));
  return { advantages: rounded(advantages), returns: rounded(estimate.returns), rewards: rounded(rewards), valueMask };
}
