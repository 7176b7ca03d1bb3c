// How estimators make advantages of rewards that lie on tokens, within advantagePipeline and estimateAdvantages.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { RowLayout, Rows } from "../core/row-layout";
import type { GroupConventions } from "../ops/group";
import { affine } from "../ops/reduce";
import { discountedReturns, gae, type MaskMode } from "../ops/scan";
import { cpgdAdvantage, type CpgdAdvantageOptions } from "./cpgd-advantage";

/** One batch of tokens, as the stages read it. */
interface StageBatch {
  readonly rows: Rows;
  readonly tokenRewards: FloatArray | undefined;
  readonly values: FloatArray | undefined;
  readonly rewards: FloatArray | undefined;
}

interface StageOptions {
  /** Layout, mask and backend of the batch, and the workers that share it. */
  readonly where: RowLayout & BackendOption & CollectiveOption & { readonly mask?: Uint8Array };
  readonly gamma: number;
  readonly lambda: number | undefined;
  readonly maskMode: MaskMode | undefined;
  readonly transformMasked: boolean;
  readonly weighting: CpgdAdvantageOptions["weighting"];
}

/** In float64, before whitening. */
export interface StageResult {
  readonly advantages: FloatArray;
  readonly returns: FloatArray;
}

export interface PipelineStage {
  /** It reads the values of a critic. */
  readonly needsValues: boolean;
  /** How rewards are compared within their group; null: not at all; `"refuse"`: groups are an error, since it compares a batch. */
  readonly shaping: GroupConventions | "refuse" | null;
  /** Its advantages are normalised over all batches, where the caller does not say for which. */
  readonly normalized: boolean;
  /** The arrays that decide the type of its results. */
  readonly reads: readonly ("tokenRewards" | "values" | "rewards")[];
  readonly estimate: (op: string, batch: StageBatch, options: StageOptions) => StageResult;
}

function needTokens(op: string, name: "tokenRewards" | "values", { rows, ...batch }: StageBatch): FloatArray {
  if (batch[name] === undefined) throw optionError(op, name, undefined, "an array, which this estimator reads");
  return asFloat(needFloats(op, name, batch[name], rows.n, rows.meaning), "float64");
}

/** With maskMode "steps" a masked token can have a number; it is no advantage unless a convention makes it one. */
function keptOnly(values: FloatArray, { where, transformMasked }: StageOptions): FloatArray {
  return where.mask && !transformMasked ? affine(values, where) : values;
}

/** What the scans take. */
function stepsOf({ where, gamma, maskMode, transformMasked }: StageOptions) {
  const { collective: _, ...rest } = where;
  return { ...rest, gamma, maskMode, transformMasked };
}

function estimateReturns(op: string, batch: StageBatch, options: StageOptions): StageResult {
  const returns = keptOnly(discountedReturns(needTokens(op, "tokenRewards", batch), stepsOf(options)), options);
  return { advantages: returns.slice(), returns };
}

/** Discounted returns of the rewards, once these are compared within their group. */
export function returnsStage(shaping: GroupConventions | null, normalized: boolean): PipelineStage {
  return { needsValues: false, shaping, normalized, reads: ["tokenRewards", "values"], estimate: estimateReturns };
}

/** Generalized advantages of rewards and values. */
export const gaeStage: PipelineStage = {
  needsValues: true,
  shaping: null,
  normalized: true,
  reads: ["tokenRewards", "values"],
  estimate(op, batch, options) {
    const rewards = needTokens(op, "tokenRewards", batch);
    const lambda = needNumber(op, "lambda", options.lambda ?? 1, { min: 0, max: 1 });
    const result = gae(rewards, needTokens(op, "values", batch), { ...stepsOf(options), lambda });
    return { advantages: keptOnly(result.advantages, options), returns: keptOnly(result.returns, options) };
  },
};

/** Rewards of rows against those of the batch. */
export const cpgdStage: PipelineStage = {
  needsValues: false,
  shaping: "refuse",
  normalized: false,
  reads: ["rewards"],
  estimate(op, { rows, rewards }, { where, weighting }) {
    const given = needFloats(op, "rewards", rewards, rows.B, "one per row");
    const { mask, backend, collective, ...layout } = where;
    const batch = { ...layout, mask, rewards: asFloat(given, "float64") };
    const { advantages } = cpgdAdvantage(batch, { weighting, backend, collective });
    return { advantages, returns: advantages.slice() };
  },
};
