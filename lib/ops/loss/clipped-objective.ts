// The clipped policy objective: a clipped loss of tokens, rows or groups of rows, to be maximised. docs/ops/loss.md has the formulas.
import { LOSS_FORM, LOSS_FORM_OPTIONS, LOSS_SUMS, ROW_FORM } from "../../backend/contract/loss";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, needFloats, optionalFloats, refuseOverlap } from "../../core/arrays";
import type { Collective, CollectiveOption } from "../../core/collective";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DeviceSummary } from "../../core/device-summary";
import type { FloatArray } from "../../core/dtype";
import { widestFloat } from "../../core/float-arrays";
import { keepingLast } from "../../core/kept-memory";
import { optionError } from "../../core/errors";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { gatherRowPartials } from "../../core/row-partials";
import { needUnits, type RatioOptions, type Units } from "../ratio/ratio-units";
import { mapAffinely } from "../reduce/affine";
import { boundArrays, needBounds } from "./bounds";
import { countMarked } from "./count-marked";
import { needParameters } from "./parameters";
import { lossArgs, needLossMemory, PLACE } from "./evaluate-loss";
import { type LossForm, type LossInputs, NO_KL } from "./loss-inputs";
import type { LossArrays } from "./types";

takesDeviceArrays("clippedObjective");

const OUTPUTS = ["losses", "ratios", "clipped", "gradLogProbs"] as const;
/** Arrays that the clipped objective can return. */
export type ClippedOutput = (typeof OUTPUTS)[number];
const DEFAULT_OUTPUTS: readonly ClippedOutput[] = ["gradLogProbs"];

export interface ClippedObjectiveOptions<Output extends ClippedOutput = ClippedOutput>
  extends RatioOptions, CollectiveOption {
  /**
   * The ratio is clipped from below at 1 − clipLow. >= 0; Infinity = not clipped. From 1 on the bound is never reached. An array has one
   * for each row, or for each token at token level; one out of range makes its tokens NaN.
   */
  readonly clipLow: number | FloatArray;
  /** The ratio is clipped from above at 1 + clipHigh, likewise. */
  readonly clipHigh: number | FloatArray;
  /** Dual clip c > 1: for a negative advantage A the term is at least c·A. Default: Infinity, off. */
  readonly dualClip?: number;
  /** Upper cap of the ratio in the unclipped term, without gradient above it ("two-sided" clipping), likewise. Default: Infinity, off. */
  readonly ratioCap?: number | FloatArray;
  /** What an entry of a bound that is an array belongs to. Default: by the length. */
  readonly boundsPer?: Per;
  /** The log ratio is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
  /** The log ratio is clamped from above, without gradient there. Default: Infinity, off. */
  readonly maxLogRatio?: number;
  /**
   * Weight of each row's terms in the objective, [rows], float64.
   * Default at token level: 1 / kept tokens of the batch (the token mean). At the other levels: 1 / rows.
   */
  readonly rowWeights?: FloatArray;
  /**
   * What an advantage belongs to; `"token"` at token level only. Default: by the length of `advantages`. Packed rows that
   * are as many as tokens, but not of one token each, leave that open: then it must be said.
   */
  readonly advantagesPer?: Per;
  /** The arrays to return beside the figures. Default: `["gradLogProbs"]`. */
  readonly outputs?: readonly Output[];
  /** Reuse memory for them instead of allocating. Must not overlap the inputs. */
  readonly out?: Partial<Pick<LossArrays, ClippedOutput>>;
}

/** What an objective adds up. */
export interface ClippedFigures {
  /** Σ over rows of rowWeight · Σ of the row's terms, float64, to be maximised. A loss is its negative. */
  readonly objective: number;
  /** The rows' shares of it, [rows]. */
  readonly objectives: Float64Array;
  /** Share of the terms with `clipped`; 0 where there is no term. */
  readonly clipFraction: number;
  /** Share of the terms that sit on the limit of the dual clip; 0 where there is no term. */
  readonly dualClipFraction: number;
  /** Mean ratio over the terms; NaN where there is none. */
  readonly meanRatio: number;
  /** Largest ratio of a term; NaN where there is none. */
  readonly maxRatio: number;
}

/** The arrays are those of `tokenLoss` or of `rowLoss`, but for the gradient, which is that of the objective. */
interface ClippedArrays {
  /** −min(r·A, clip(r)·A) per token (0 under the mask), or per row at the other levels. Not weighted. */
  readonly losses: FloatArray;
  /** One per token (0 under the mask), or per row: that of its group at group level; 1 for a unit without kept tokens. */
  readonly ratios: FloatArray;
  /** 1 where the clipped branch is strictly smaller and so cuts the gradient off; shape of `losses`. */
  readonly clipped: Uint8Array;
  /** d objective / d logProbs, [n]; 0 under the mask, and where clipped. */
  readonly gradLogProbs: FloatArray;
}

export type ClippedObjectiveResult<Output extends ClippedOutput = "gradLogProbs"> = Pick<ClippedArrays, Output> &
  ClippedFigures;

/** The arrays on the device, and the figures still in the sums of its rows. */
export type DeviceClippedObjectiveResult<Output extends ClippedOutput = "gradLogProbs"> = OnDevice<
  Pick<ClippedArrays, Output>
> & { readonly summary: DeviceSummary<ClippedFigures> };

function needForm(op: string, options: ClippedObjectiveOptions, { level, common }: Units): LossForm {
  const per = level === "token" ? "token" : "row";
  return {
    run: level === "token" ? "lossToken" : "lossRow",
    form: level === "token" ? LOSS_FORM.clip : ROW_FORM.clipOnce,
    reduce: common.reduce,
    parameters: needParameters(op, "clip", LOSS_FORM_OPTIONS.clip, options),
    oldPerRow: false,
    rowsOnly: level !== "token",
    lossesPer: per,
    ratiosPer: per,
  };
}

function needAdvantages(op: string, value: unknown, { rows, level }: Units, per: Per | undefined): PerRowOrToken {
  if (level === "token") return needPerRowOrToken(op, "advantages", value, rows, per);
  if (per !== undefined && per !== "row") throw optionError(op, "advantagesPer", per, `"row" at ${level} level`);
  return { array: needFloats(op, "advantages", value, rows.B, "one per row"), perToken: false };
}

/** 1 / kept tokens or 1 / rows; 0 where there is nothing to weigh, so that the objective is 0 and not 0/0. */
function defaultWeight(op: string, { rows, level, common }: Units, collective: Collective | undefined): number {
  if (level === "token" && DeviceArray.is(common.mask))
    throw optionError(op, "rowWeights", undefined, "weights, or a mask in host memory whose tokens can be counted");
  const here = level !== "token" ? rows.B : common.mask ? countMarked(common.mask, rows.n) : rows.n;
  const total = collective ? collective.allReduce(Float64Array.of(here), "sum")[0]! : here;
  return total > 0 ? 1 / total : 0;
}

/** What a call needs of its rows and does not return: their sums, and the weights of the loss, the objective's negative. */
interface RowMemory {
  readonly sums: Float64Array;
  readonly weights: Float64Array;
}

function newMemory(rows: number): RowMemory {
  return { sums: new Float64Array(rows * LOSS_SUMS), weights: new Float64Array(rows) };
}

const memoryOf = keepingLast(newMemory);

/** The weights of the loss, in this memory where they do not lie on a device. */
function needWeights(
  op: string,
  options: ClippedObjectiveOptions,
  units: Units,
  negative: () => Float64Array,
): FloatArray {
  const given = optionalFloats(op, "rowWeights", options.rowWeights, units.rows.B, "one per row");
  if (DeviceArray.is(given)) return mapAffinely(op, given, { shape: [1, given.length], scale: -1 });
  if (!given) {
    const weight = defaultWeight(op, units, options.collective);
    return negative().fill(-weight);
  }
  const weights = negative();
  for (let b = 0; b < weights.length; ++b) weights[b] = -given[b]!;
  return weights;
}

const { total: TOTAL, kept: KEPT, clipped: CLIPPED, limited: LIMITED, rowRatio: ROW_RATIO, ratio: RATIO } = PLACE;

/** Figures of the batch from those of its rows, in row order: `all` those of all workers, `own` those here. */
function summarize(all: Float64Array, own: Float64Array, ofTokens: boolean): ClippedFigures {
  let objective = 0;
  let ratios = 0;
  let terms = 0;
  let clipped = 0;
  let limited = 0;
  let maxRatio = -Infinity;
  for (let at = 0; at < all.length; at += LOSS_SUMS) {
    objective += all[at + TOTAL]!;
    maxRatio = Math.max(maxRatio, all[at + ROW_RATIO]!);
    // Above tokens a row is a term.
    ratios += all[at + (ofTokens ? RATIO : ROW_RATIO)]!;
    terms += ofTokens ? all[at + KEPT]! : 1;
    clipped += ofTokens ? all[at + CLIPPED]! : Math.min(all[at + CLIPPED]!, 1);
    limited += ofTokens ? all[at + LIMITED]! : Math.min(all[at + LIMITED]!, 1);
  }
  const objectives = new Float64Array(own.length / LOSS_SUMS);
  for (let b = 0; b < objectives.length; ++b) objectives[b] = own[b * LOSS_SUMS + TOTAL]!;
  return {
    objective,
    objectives,
    clipFraction: terms > 0 ? clipped / terms : 0,
    dualClipFraction: terms > 0 ? limited / terms : 0,
    meanRatio: terms > 0 ? ratios / terms : NaN,
    maxRatio: terms > 0 ? maxRatio : NaN,
  };
}

/** A checked call: what a backend needs, and the result once it has run. */
function clippedCall<Output extends ClippedOutput>(
  op: string,
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions<Output>,
  rowMemory: (rows: number) => RowMemory,
) {
  const { collective } = options;
  const stream = streamOf(
    op,
    options,
    logProbs,
    oldLogProbs,
    advantages,
    options.mask,
    options.rowWeights,
    options.clipLow,
    options.clipHigh,
    options.ratioCap,
  );
  const units = needUnits(op, logProbs, oldLogProbs, options);
  const { rows, common } = units;
  if (collective && units.level === "group")
    throw optionError(op, "collective", collective, 'none at level "group", whose ratios need all rows of a group');
  const advantage = needAdvantages(op, advantages, units, options.advantagesPer);
  const form = needForm(op, options, units);
  const bounds = needBounds(op, options, rows, form);
  const { clipLow, clipHigh, ratioCap } = boundArrays(bounds);
  const dtype = widestFloat(units.logProbs, units.oldLogProbs, advantage.array, clipLow, clipHigh, ratioCap);
  const wanted: readonly ClippedOutput[] = options.outputs ?? DEFAULT_OUTPUTS;
  const memory = needLossMemory(op, dtype, form, rows, wanted, options.out, stream, OUTPUTS);
  const { mask, offsets, members, groupOffsets } = common;
  const arrays = {
    logProbs: units.logProbs,
    oldLogProbs: units.oldLogProbs,
    advantages: advantage.array,
    mask,
    offsets,
    groupOffsets,
    rowWeights: options.rowWeights,
    clipLow,
    clipHigh,
    ratioCap,
  };
  refuseOverlap(op, options.out, memory, arrays);

  const own = rowMemory(stream ? 0 : rows.B);
  const rowWeights = needWeights(op, options, units, () => (stream ? new Float64Array(rows.B) : own.weights));
  const inputs: LossInputs = {
    rows,
    old: units.oldLogProbs,
    advantage,
    factor: null,
    rowWeights,
    mask,
    termMask: null,
    marks: null,
    kl: NO_KL,
    bounds,
    groups: groupOffsets && { G: common.G, members, offsets: groupOffsets },
  };
  const sums = stream ? float64Or(op, "", undefined, rows.B * LOSS_SUMS, stream) : own.sums;
  const args = lossArgs(dtype, form, units.logProbs, inputs, memory, sums, LOSS_SUMS);

  const ofTokens = units.level === "token";
  const finish = (): ClippedObjectiveResult<Output> => {
    let result: Record<string, unknown>;
    if (stream) {
      const parts = [sums as unknown as DeviceArray];
      const read = ([all]: readonly ArrayBufferView[]): ClippedFigures =>
        summarize(all as Float64Array, all as Float64Array, ofTokens);
      result = { summary: new DeviceSummary(parts, read) };
    } else {
      const all = collective ? gatherRowPartials(op, collective, sums, LOSS_SUMS).partials : sums;
      result = summarize(all, sums, ofTokens) as unknown as Record<string, unknown>;
    }
    for (const name of wanted) result[name] = memory[name];
    return result as unknown as ClippedObjectiveResult<Output>;
  };
  return { stream, run: form.run, args, finish, arrays, memory };
}

/** As clippedObjective, in the name of the public function `op`. */
export function evaluateClipped<Output extends ClippedOutput>(
  op: string,
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions<Output>,
): ClippedObjectiveResult<Output> {
  const { stream, run, args, finish } = clippedCall(op, logProbs, oldLogProbs, advantages, options, memoryOf);
  selectBackend(op, options.backend, stream).ops[run](args);
  return finish();
}

/** The same on a device, where the first array lies. */
export function clippedObjective<const Output extends ClippedOutput = "gradLogProbs">(
  logProbs: DeviceFloatArray,
  oldLogProbs: AnyFloatArray,
  advantages: AnyFloatArray,
  options: Anywhere<ClippedObjectiveOptions<Output>>,
): DeviceClippedObjectiveResult<Output>;
/**
 * Clipped policy objective and its gradient, with one ratio per token (PPO), per sequence (GSPO) or per group of sequences.
 *
 *     r = exp(log ratio),  term = min(r·A, clip(r, 1 − clipLow, 1 + clipHigh)·A)
 *     objective = Σ_b rowWeight[b] · Σ terms of row b
 *
 * The gradient is that of the branch that was taken (the unclipped one in a tie), and goes through the mean of a row or
 * group to each of its tokens. An advantage of exactly 0 gives a term of exactly 0, even for an infinite ratio. NaN spreads
 * to its token, row or group, and to the sums it enters. With a `collective` the objective, its gradient and the figures are those
 * of the batch on all its workers (not at level "group").
 *
 * @param logProbs log-probs under the current policy, nats; [n] as `shape` or `offsets` say
 * @param oldLogProbs log-probs under the policy that sampled, same shape; constants for the gradient
 * @param advantages [rows], or [n] at token level; constants for the gradient
 * @returns the objective to maximise, its figures, and the arrays that `outputs` lists; arrays float64 if an input is, else float32
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2017, Proximal Policy Optimization Algorithms, equation 7 (token); Zheng et al. 2025, Group Sequence
 * Policy Optimization (sequence); Ye et al. 2020, Mastering Complex Control in MOBA Games with Deep
 * Reinforcement Learning (dual clip)
 */
export function clippedObjective<const Output extends ClippedOutput = "gradLogProbs">(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions<Output>,
): ClippedObjectiveResult<Output>;
export function clippedObjective<const Output extends ClippedOutput = "gradLogProbs">(
  logProbs: AnyFloatArray,
  oldLogProbs: AnyFloatArray,
  advantages: AnyFloatArray,
  anywhere: ClippedObjectiveOptions<Output> | Anywhere<ClippedObjectiveOptions<Output>>,
): ClippedObjectiveResult<Output> | DeviceClippedObjectiveResult<Output> {
  const options = anywhere as ClippedObjectiveOptions<Output>;
  const [ours, theirs, gains] = [logProbs, oldLogProbs, advantages] as unknown as readonly [
    FloatArray,
    FloatArray,
    FloatArray,
  ];
  return evaluateClipped("clippedObjective", ours, theirs, gains, options);
}

/**
 * `clippedObjective` off the event loop, without a `collective`. The arrays must not be touched until it resolves.
 */
export async function clippedObjectiveAsync<const Output extends ClippedOutput = "gradLogProbs">(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  advantages: FloatArray,
  options: Omit<ClippedObjectiveOptions<Output>, "collective"> & AsyncOption,
): Promise<ClippedObjectiveResult<Output>> {
  const op = "clippedObjectiveAsync";
  // Memory of its own: another call may begin before this one ends.
  const { run, args, finish, arrays, memory } = clippedCall<Output>(
    op,
    logProbs,
    oldLogProbs,
    advantages,
    options,
    newMemory,
  );
  await runWhole(op, run, args, { ...arrays, ...memory }, options);
  return finish();
}
