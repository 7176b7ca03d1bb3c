// Advantages and returns of one batch of tokens from rewards per token, by the name of an estimator.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { asFloat, type FloatArray, widestFloat } from "../core/dtype";
import { argumentError } from "../core/errors";
import { needNumber, needWord } from "../core/options";
import { needRows, type RowLayout, type Rows } from "../core/rows";
import { affine, whiten } from "../ops/reduce";
import { discountedReturns, gae } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import type { EstimateConventions, PipelineEstimator } from "../presets/pipeline-conventions";
import { layoutOf } from "./batch";
import { clipped } from "./clip-fraction";
import { cpgdAdvantage, type CpgdAdvantageOptions } from "./cpgd-advantage";
import { needEstimator } from "./group-shaping";

export type { EstimateConventions } from "../presets/pipeline-conventions";

/** Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface EstimateBatch extends RowLayout {
  /** Rewards per token. `"cpgd"` does not look at them. */
  readonly tokenRewards?: FloatArray;
  /** The critic's V; needed by `"gae"`. */
  readonly values?: FloatArray;
  /** The rewards of the rows, neither shaped nor placed on tokens; needed by `"cpgd"`. */
  readonly rewards?: FloatArray;
  /** 1 = the policy's token, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface EstimateOptions extends EstimateConventions, BackendOption, CollectiveOption {
  readonly estimator: PipelineEstimator;
  /** Discount per token, in [0, 1]. Default 1. */
  readonly gamma?: number;
  /** As in `gae`, in [0, 1]. Default 1. */
  readonly lambda?: number;
  /** Advantages of the kept tokens of this batch to mean 0 and std 1 (ddof 1). Default false. */
  readonly whiten?: boolean;
  /** Clips the advantages to ±this, > 0, after whitening. Default: not clipped. */
  readonly advantageClip?: number;
  /** Of `"cpgd"`. Default `"std"`. */
  readonly weighting?: CpgdAdvantageOptions["weighting"];
}

export interface EstimateAdvantagesOptions extends EstimateOptions, PresetOption<"estimateAdvantages"> {}

/** Per token; 0 under the mask. */
export interface EstimateResult {
  readonly advantages: FloatArray;
  /** Neither whitened nor clipped. */
  readonly returns: FloatArray;
  /** What the clip changed of the tokens here, measured before it; 0 where nothing is clipped. */
  readonly clipFraction: number;
}

function needTokens(op: string, name: "tokenRewards" | "values", batch: EstimateBatch, { n, meaning }: Rows, estimator: string): FloatArray {
  if (batch[name] === undefined) throw argumentError("ERR_SURPRISAL_OPTION", op, name, undefined, `an array with estimator "${estimator}"`);
  return asFloat(needFloats(op, name, batch[name], n, meaning), "float64");
}

/** Advantages and returns in float64, before whitening. */
function scan(op: string, batch: EstimateBatch, rows: Rows, mask: Uint8Array | null, options: EstimateOptions) {
  const { estimator } = options;
  const where = { ...layoutOf(batch), ...(mask && { mask }), ...(options.backend && { backend: options.backend }) };
  if (estimator === "cpgd") {
    const rewards = needFloats(op, "rewards", batch.rewards, rows.B, "one per row");
    const { weighting } = options;
    const { advantages } = cpgdAdvantage(asFloat(rewards, "float64"), { ...where, ...collectiveOption(options), ...(weighting && { weighting }) });
    return { advantages, returns: advantages.slice() };
  }
  const given = needNumber(op, "gamma", options.gamma ?? 1, { min: 0, max: 1 });
  const gamma = options.undiscounted?.includes(estimator) ? 1 : given;
  const transformMasked = options.transformMasked === true;
  const steps = { ...where, gamma, transformMasked, ...(options.maskMode && { maskMode: options.maskMode }) };
  const rewards = needTokens(op, "tokenRewards", batch, rows, estimator);
  // With maskMode "steps" a masked token can have a number; it is nobody's advantage unless a convention says so.
  const kept = (values: FloatArray): FloatArray => (mask && options.transformMasked !== true ? affine(values, where) : values);
  if (estimator !== "gae") {
    const returns = kept(discountedReturns(rewards, steps));
    return { advantages: returns.slice(), returns };
  }
  const lambda = needNumber(op, "lambda", options.lambda ?? 1, { min: 0, max: 1 });
  const result = gae(rewards, needTokens(op, "values", batch, rows, estimator), { ...steps, lambda });
  return { advantages: kept(result.advantages), returns: kept(result.returns) };
}

/** As estimateAdvantages, in the name of the public function `op`; float64 results. */
export function estimate(op: string, batch: EstimateBatch, options: EstimateOptions): EstimateResult {
  const estimator = needEstimator(op, options.estimator);
  const rows = needRows(op, batch);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const limit = needNumber(op, "advantageClip", options.advantageClip ?? Infinity, { min: 0, above: true, infinite: true });
  const everywhere = needWord(op, "clipFractionOver", options.clipFractionOver ?? "kept", ["kept", "all"]) === 1;
  const epsilon = needNumber(op, "whitenEpsilon", options.whitenEpsilon ?? 1e-8, { min: 0 });
  const { advantages, returns } = scan(op, batch, rows, mask, options);

  const whitening = options.whiten === true && !options.neverWhitened?.includes(estimator);
  const whitened = whitening
    ? whiten(advantages, {
        ...layoutOf(batch),
        over: "all",
        epsilon,
        transformMasked: options.transformMasked === true,
        ...(mask && { mask }),
        ...(options.backend && { backend: options.backend }),
        ...collectiveOption(options),
      })
    : advantages;
  if (limit === Infinity) return { advantages: whitened, returns, clipFraction: 0 };
  const bounds = { ...layoutOf(batch), low: -limit, high: limit, ...(options.backend && { backend: options.backend }) };
  const all = options.transformMasked === true;
  const result = clipped(whitened, { ...bounds, ...(mask && !everywhere && { mask, transformMasked: all }) });
  return { advantages: result.values, returns, clipFraction: result.fraction };
}

/**
 * Advantages of one batch from rewards per token:
 *
 *     gae                                                  generalized advantages of rewards and values
 *     reinforce, rloo, reinforceBaseline, groupNorm, drGrpo   advantages = discounted returns of the rewards
 *     cpgd                                                 `cpgdAdvantage` of the rows' rewards
 *
 * then, as options say, whitened over the kept tokens: (A − mean) / (std + ε), and clipped. Returns are neither. In float64;
 * 0 under the mask, where nothing is read. A batch with one kept token whitens to 0.
 *
 * @param batch token rewards as `klShapedReward` makes them; `shape` or `offsets` say where tokens lie
 * @param options presets `"lightrft"` and `"openrlhf"` have γ = 1 for some estimators, whatever is given
 * @returns in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function estimateAdvantages(batch: EstimateBatch, options: EstimateAdvantagesOptions): EstimateResult {
  const op = "estimateAdvantages";
  const result = estimate(op, batch, resolvePreset(op, options.preset, options));
  const read = options.estimator === "cpgd" ? [batch.rewards] : [batch.tokenRewards, batch.values];
  if (widestFloat(...read) === "float64") return result;
  return { ...result, advantages: Float32Array.from(result.advantages), returns: Float32Array.from(result.returns) };
}
