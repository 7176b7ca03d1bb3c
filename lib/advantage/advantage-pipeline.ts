// From rewards of rows to normalised advantages of tokens, over the micro-batches of a step.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalFloats, optionalMask } from "../core/arrays";
import type { Collective, CollectiveOption } from "../core/collective";
import type { FloatArray, FloatDType } from "../core/dtype";
import { asFloat, widestFloat } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { groupingOf, type GroupLayout, namesGroups, needGroups } from "../core/groups";
import { needFlag, needNumber, needWord } from "../core/option-checks";
import { concatenated, gatherRagged } from "../core/row-partials";
import { layoutOf, needRows, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { type RunningMoments, scaleByMoments, updateRunningMoments } from "../control/running-moments";
import { groupPlace } from "../ops/group";
import { whiten } from "../ops/reduce";
import { type PresetOption, resolvePreset } from "../presets";
import { clipped } from "./clip-fraction";
import { estimate, type EstimateConventions, type EstimateOptions } from "./estimate-advantages";
import { shapeGroupRewards } from "./group-shaping";
import { needStage, normalizedByDefault, type PipelineEstimator } from "./pipeline-estimators";
import { needRewardClip, type RewardClip } from "./reward-clip";
import { rowSums } from "./row-sums";

export interface PipelineConventions extends EstimateConventions {
  /** Of the group shaping, see `shapeGroupRewards`. Default 1e-8. */
  readonly epsilon?: number;
  /** Estimators whose advantages are normalised over all batches at the end. Default: gae, reinforcePlusPlus, reinforcePlusPlusBaseline. */
  readonly normalized?: readonly PipelineEstimator[];
  /** Divide by the std in that normalisation, or only subtract the mean. Default `"std"`. */
  readonly scale?: "std" | "none";
  /** The variance is not allowed below this in that normalisation, >= 0. Default 1e-8. */
  readonly varianceFloor?: number;
}

/** One micro-batch. Per-token arrays have [n] elements, as its `shape` or `offsets` say. */
export interface PipelineBatch extends RowLayout {
  /** One per row. */
  readonly rewards: FloatArray;
  /** KL from the reference policy per token, nats. Default: 0. */
  readonly kl?: FloatArray;
  /** The critic's V; needed by `"gae"`. */
  readonly values?: FloatArray;
  /** 1 = the policy's token, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/**
 * `groups` or `groupOffsets` are those of all rows, the rows of the first batch first. Rewards are shaped within them as
 * `shapeGroupRewards` does for the estimator; an estimator that shapes none needs none.
 */
export interface AdvantagePipelineOptions
  extends
    PipelineConventions,
    Omit<EstimateOptions, "backend" | "collective">,
    GroupLayout,
    PresetOption<"advantagePipeline">,
    BackendOption,
    CollectiveOption {
  /** False: the rewards are taken as shaped already, and groups are not given. Default true. */
  readonly shapeGroups?: boolean;
  /** State of a running normalisation of rewards: they are divided by the std of all rewards so far, their own batch included. */
  readonly runningMoments?: RunningMoments;
  /** The running mean is subtracted too. Default false. */
  readonly subtractRunningMean?: boolean;
  /** Rewards are clipped to this range, after the running normalisation. Default: not clipped. */
  readonly rewardClip?: RewardClip;
  /** Whether `"grpo"` divides by the std of the group, or not (Dr. GRPO). Default `"std"`. */
  readonly groupScale?: "std" | "none";
  /** β: what a nat of KL costs, in units of the reward; negative counts as 0. Default 0. */
  readonly klCoefficient?: number;
}

export interface PipelineBatchResult {
  /** Per token; 0 under the mask. */
  readonly advantages: FloatArray;
  /** Per token, not normalised; 0 under the mask. */
  readonly returns: FloatArray;
  /** Per token: the advantages before the normalisation over all batches. */
  readonly estimatedAdvantages: FloatArray;
  /** What was estimated from: −β·kl at kept tokens, and the row's reward at the last of them. */
  readonly tokenRewards: FloatArray;
  /** One per row: after the shaping within groups. */
  readonly shapedRewards: FloatArray;
  /** One per row: after the division by the running std. */
  readonly scaledRewards: FloatArray;
  /** One per row: shaped, scaled and clipped. */
  readonly rewards: FloatArray;
  /** Sum of the token rewards of each row. */
  readonly sequenceReturns: FloatArray;
  /** What the clip of rewards changed, measured before it; 0 where nothing is clipped. */
  readonly rewardClipFraction: number;
  /** The same of advantages, before the normalisation over all batches. */
  readonly advantageClipFraction: number;
}

export interface AdvantagePipelineResult {
  /** One for each batch given. */
  readonly batches: readonly PipelineBatchResult[];
  /** The state after this call; undefined where none was given. */
  readonly runningMoments: RunningMoments | undefined;
}

interface CheckedBatch {
  readonly rows: Rows;
  readonly layout: RowLayout;
  readonly mask: Uint8Array | null;
  readonly rewards: Float64Array;
  readonly kl: FloatArray | null;
  readonly dtype: FloatDType;
  readonly given: PipelineBatch;
}

function needBatch(op: string, given: PipelineBatch): CheckedBatch {
  const rows = needRows(op, given);
  const { B, n, meaning } = rows;
  const rewards = needFloats(op, "rewards", given.rewards, B, "one per row");
  const kl = optionalFloats(op, "kl", given.kl, n, meaning);
  const values = optionalFloats(op, "values", given.values, n, meaning);
  return {
    rows,
    layout: layoutOf(given),
    mask: optionalMask(op, "mask", given.mask, n, meaning),
    rewards: Float64Array.from(rewards),
    kl: kl && asFloat(kl, "float64"),
    dtype: widestFloat(rewards, kl, values),
    given,
  };
}

/** The pieces of one array, as long as the lengths say. */
function split<A extends FloatArray>(all: A, lengths: Iterable<number>): A[] {
  let begin = 0;
  return Array.from(lengths, (length) => all.slice(begin, (begin += length)) as A);
}

function shapeRewards(
  op: string,
  batches: readonly CheckedBatch[],
  epsilon: number,
  { estimator, shapeGroups, groupScale, groups, groupOffsets, backend, collective }: AdvantagePipelineOptions,
): Float64Array[] {
  const own = batches.map(({ rewards }) => rewards);
  const { shaping } = needStage(op, estimator);
  const done = needFlag(op, "shapeGroups", shapeGroups ?? true) === 0;
  if (namesGroups({ groups, groupOffsets }) && (done || shaping === "refuse"))
    throw optionError(
      op,
      "groups",
      groups ?? groupOffsets,
      done
        ? "nothing with shapeGroups false"
        : `nothing with estimator "${estimator}", which compares the rows of a batch`,
    );
  if (done || ((shaping === null || shaping === "refuse") && !namesGroups({ groups, groupOffsets }))) return own;
  const all = concatenated(own);
  needGroups(op, { groups, groupOffsets }, all.length);
  const { rewards } = shapeGroupRewards(all, {
    estimator,
    groupScale,
    epsilon,
    ...groupingOf({ groups, groupOffsets }),
    backend,
    collective,
  });
  return split(
    rewards as Float64Array,
    batches.map(({ rows }) => rows.B),
  );
}

/** The state behind each batch here, and behind the last of all workers, whose batches follow each other rank by rank. */
function runThrough(start: RunningMoments, batches: readonly Float64Array[], collective: Collective | undefined) {
  const lengths = Float64Array.from(batches, (batch) => batch.length);
  const values = concatenated(batches);
  const lengthsOfAll = collective ? gatherRagged(collective, lengths) : [lengths];
  const valuesOfAll = collective ? gatherRagged(collective, values) : [values];
  let state = start;
  const states = lengthsOfAll.map((list, rank) =>
    split(valuesOfAll[rank]!, list).map((batch) => (state = updateRunningMoments(state, batch).moments)),
  );
  return { states: states[collective?.rank ?? 0]!, last: state };
}

/** Advantages of all batches as one packed batch, so that their statistics are those of all. */
function normalizeTogether(
  batches: readonly CheckedBatch[],
  advantages: readonly FloatArray[],
  conventions: Required<Pick<PipelineConventions, "scale" | "varianceFloor" | "transformMasked">>,
  backend: BackendOption & CollectiveOption,
): FloatArray[] {
  const offsets = [0];
  const mask = new Uint8Array(advantages.reduce((sum, array) => sum + array.length, 0));
  let begin = 0;
  for (const { rows, mask: own } of batches) {
    for (let b = 0; b < rows.B; ++b) offsets.push(begin + rowEnd(rows, b));
    if (own) mask.set(own, begin);
    else mask.fill(1, begin, begin + rows.n);
    begin += rows.n;
  }
  const all = whiten(concatenated(advantages), {
    offsets: Int32Array.from(offsets),
    mask,
    over: "all",
    ddof: 0,
    ...conventions,
    ...backend,
  });
  return split(
    all,
    batches.map(({ rows }) => rows.n),
  );
}

/**
 * The way of a step's rewards to advantages, over all its micro-batches:
 *
 *     shape within groups → scale by running moments → clip → place on tokens with the KL penalty
 *     → estimate (see `estimateAdvantages`) → (A − mean) / sqrt(max(var, varianceFloor)) over all kept tokens of all batches
 *
 * Each stage is a function of its own too: `shapeGroupRewards`, `updateRunningMoments`, `clipFraction`, `klShapedReward`,
 * `estimateAdvantages`, `whiten`. γ is the same in every batch. Nothing kept: zeros. With a `collective` the batches of its
 * workers follow each other, rank by rank; what is of a micro-batch stays there.
 *
 * @param batches in the order in which their rewards enter the running moments
 * @returns for each batch, in the widest float type of its inputs; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function advantagePipeline(
  batches: readonly PipelineBatch[],
  options: AdvantagePipelineOptions,
): AdvantagePipelineResult {
  const op = "advantagePipeline";
  const resolved = resolvePreset(op, options.preset, options);
  needStage(op, options.estimator);
  const clip = needRewardClip(op, options.rewardClip);
  const beta = Math.max(needNumber(op, "klCoefficient", options.klCoefficient ?? 0), 0);
  const epsilon = needNumber(op, "epsilon", resolved.epsilon ?? 1e-8, { min: 0 });
  const scale = resolved.scale ?? "std";
  needWord(op, "scale", scale, ["std", "none"]);
  const varianceFloor = needNumber(op, "varianceFloor", resolved.varianceFloor ?? 1e-8, { min: 0 });
  const backend: BackendOption = { backend: options.backend };
  const checked = batches.map((batch) => needBatch(op, batch));
  const shaped = shapeRewards(op, checked, epsilon, options);

  const { collective, ...conventions } = resolved;
  const running = options.runningMoments && runThrough(options.runningMoments, shaped, collective);
  const estimated = checked.map(({ rows, layout, mask, kl, given }, i) => {
    const shapedRewards: FloatArray = shaped[i]!;
    const subtractMean = options.subtractRunningMean === true;
    const scaledRewards = running
      ? scaleByMoments(shapedRewards, running.states[i]!, { subtractMean, ...backend })
      : shapedRewards;
    const [low, high] = clip ?? [-Infinity, Infinity];
    const { values: rewards, fraction: rewardClipFraction } = clipped(scaledRewards, {
      shape: [1, rows.B],
      low,
      high,
      ...backend,
    });
    const where = { ...layout, mask: mask ?? undefined };
    const tokenRewards = groupPlace({ row: rewards, values: kl ?? undefined }, { ...where, scale: -beta, ...backend });
    const batch = {
      ...where,
      tokenRewards,
      rewards: checked[i]!.rewards,
      values: given.values,
    };
    const { advantages, returns, clipFraction } = estimate(op, batch, { ...conventions, ...backend });
    const sequenceReturns = rowSums(op, tokenRewards, rows, null, options.backend);
    const perRow = { shapedRewards, scaledRewards, rewards, sequenceReturns, rewardClipFraction };
    return { ...perRow, advantages, returns, tokenRewards, advantageClipFraction: clipFraction };
  });

  const advantages = estimated.map((result) => result.advantages);
  const normalized = (resolved.normalized ?? normalizedByDefault).includes(options.estimator)
    ? normalizeTogether(
        checked,
        advantages,
        { scale, varianceFloor, transformMasked: resolved.transformMasked === true },
        { ...backend, collective: options.collective },
      )
    : advantages;
  return {
    batches: estimated.map((result, i) => {
      const rounded = (array: FloatArray): FloatArray =>
        checked[i]!.dtype === "float64" ? array : Float32Array.from(array);
      return {
        ...result,
        advantages: rounded(normalized[i]!),
        estimatedAdvantages: rounded(result.advantages),
        shapedRewards: rounded(result.shapedRewards),
        scaledRewards: rounded(result.scaledRewards),
        returns: rounded(result.returns),
        tokenRewards: rounded(result.tokenRewards),
        rewards: rounded(result.rewards),
        sequenceReturns: rounded(result.sequenceReturns),
      };
    }),
    runningMoments: running?.last,
  };
}
