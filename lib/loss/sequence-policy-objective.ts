// The group-sequence clipped objective (GSPO), from rewards to the gradient of the log-probs.
// docs/loss/sequence-policy-objective.md has the formulas and worked examples.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import { type FloatArray, isFloatArray } from "../core/dtype";
import { asFloat, widestFloat } from "../core/float-arrays";
import { dtypeError, optionError, SurprisalError } from "../core/errors";
import type { GroupLayout, NamedGroups } from "../core/groups";
import { needWord } from "../core/option-checks";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { needItems } from "../ops/group/items";
import { normalizeItems } from "../ops/group/normalize";
import { evaluateClipped } from "../ops/loss/clipped-objective";
import { type ClipRange, needClipRange } from "./policy/clip-range";

const EMPTY_SEQUENCE = ["throw", "skip"] as const;

/** `shape` or `offsets` for flat log-probs; neither for an array per sequence. */
export type SequencePolicyOptions = RowLayout &
  GroupLayout &
  ClipRange &
  BackendOption &
  CollectiveOption & {
    /** Added to the std of the rewards, >= 0. Default 0. */
    readonly epsilon?: number;
    /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Only for flat log-probs. Default: all 1. */
    readonly mask?: Uint8Array;
    /** The mean log ratio of a sequence is clamped from above, without gradient there. Default: Infinity, off. */
    readonly maxLogRatio?: number;
    /**
     * A sequence without kept tokens: refuse it, or give it ratio 1, so that it adds its advantage and has no gradient.
     * Default `"throw"`.
     */
    readonly emptySequence?: "throw" | "skip";
  };

/** `Grad` is a flat array or one array per sequence, as the log-probs came. */
export interface SequencePolicyResult<Grad = FloatArray> {
  /** Mean over the sequences of min(ratio·A, clip(ratio)·A), float64, to be maximised. A loss is its negative. */
  readonly objective: number;
  /** d objective / d logProbs; 0 under the mask, where clipped and where the advantage is 0. */
  readonly gradLogProbs: Grad;
  /** Standardised rewards, one per sequence. */
  readonly advantages: FloatArray;
  /** Mean reward, one per group. */
  readonly rewardMean: FloatArray;
  /** Population std of the rewards, without epsilon, one per group. */
  readonly rewardStd: FloatArray;
  /** Geometric means of the token ratios, one per sequence. */
  readonly ratios: FloatArray;
  readonly clippedRatios: FloatArray;
  /** min(ratio·A, clip(ratio)·A), one per sequence. */
  readonly perSequence: FloatArray;
  /** 1 where the clipped branch is strictly smaller, one per sequence. */
  readonly clipped: Uint8Array;
  /** Share of sequences with `clipped`. */
  readonly clipFraction: number;
  readonly meanRatio: number;
  readonly maxRatio: number;
}

const OP = "sequencePolicyObjective";

/** Flat log-probs of both policies, and how they lie. */
interface Flat {
  readonly logProbs: FloatArray;
  readonly oldLogProbs: FloatArray;
  readonly layout: RowLayout;
}

function needSequences(name: string, value: unknown): readonly FloatArray[] {
  if (!Array.isArray(value))
    throw dtypeError(OP, name, value, "an array of one float array per sequence, like logProbs");
  value.forEach((sequence: unknown, b) => {
    if (!isFloatArray(sequence)) throw dtypeError(OP, `${name}[${b}]`, sequence, "a Float32Array or a Float64Array");
  });
  return value as readonly FloatArray[];
}

/** One flat array behind the other, in the widest type of both. */
function concatenate(logProbLists: unknown, oldLogProbLists: unknown): Flat {
  const sequences = needSequences("logProbs", logProbLists);
  const others = needSequences("oldLogProbs", oldLogProbLists);
  if (others.length !== sequences.length)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${OP}: oldLogProbs has ${others.length} sequences, expected ${sequences.length}, as logProbs`,
      {
        op: OP,
        name: "oldLogProbs",
        got: others.length,
        want: `${sequences.length}, as logProbs`,
      },
    );
  const offsets = new Int32Array(sequences.length + 1);
  sequences.forEach((sequence, b) => {
    needFloats(OP, `logProbs[${b}]`, sequence, sequence.length, "its own length");
    needFloats(OP, `oldLogProbs[${b}]`, others[b], sequence.length, `the length of logProbs[${b}]`);
    offsets[b + 1] = offsets[b]! + sequence.length;
  });
  const n = offsets[sequences.length]!;
  const wide = widestFloat(...sequences, ...others) === "float64";
  const join = (list: readonly FloatArray[]): FloatArray => {
    const flat = wide ? new Float64Array(n) : new Float32Array(n);
    list.forEach((sequence, b) => flat.set(sequence, offsets[b]));
    return flat;
  };
  return { logProbs: join(sequences), oldLogProbs: join(others), layout: { offsets } };
}

function flatten(logProbs: unknown, oldLogProbs: unknown, options: SequencePolicyOptions): Flat {
  if (isFloatArray(logProbs)) {
    const { shape, offsets } = options;
    return { logProbs, oldLogProbs: oldLogProbs as FloatArray, layout: { shape, offsets } };
  }
  for (const name of ["shape", "offsets", "mask"] as const)
    if (options[name] !== undefined)
      throw optionError(OP, name, options[name], "nothing where log-probs come as one array per sequence");
  return concatenate(logProbs, oldLogProbs);
}

function refuseEmpty(rows: Rows, mask: Uint8Array | null): void {
  for (let b = 0; b < rows.B; ++b) {
    const [begin, end] = [rowBegin(rows, b), rowEnd(rows, b)];
    const empty = mask ? !mask.subarray(begin, end).some((kept) => kept !== 0) : begin === end;
    if (empty)
      throw new SurprisalError(
        "ERR_SURPRISAL_SHAPE",
        `${OP}: sequence ${b} has no token, expected at least one; drop it, or set emptySequence: "skip"`,
        { op: OP, name: "logProbs", got: 0, want: "at least one token" },
      );
  }
}

/**
 * Sequence-level clipped policy objective: rewards → group-standardised advantages → sequence ratios → objective, gradient.
 *
 *     A_i = (reward_i − mean) / (std + epsilon)          per group, population std; all 0 where the rewards are equal
 *     ratio_i = exp(mean over tokens of logProbs − oldLogProbs)   the geometric mean of the token ratios
 *     objective = mean over sequences of min(ratio_i·A_i, clip(ratio_i, 1 − clipLow, 1 + clipHigh)·A_i)
 *     gradient of each token = A_i·ratio_i / (sequences · tokens_i), 0 where the clipped term is strictly smaller
 *
 * Every sequence weighs the same, whatever its length. With several groups the advantages are per group, the mean is over
 * all sequences; with a `collective` those of all its workers. An infinite ratio with advantage 0 adds 0; NaN spreads to its sequence and to the objective.
 *
 * @param logProbs log-probs under the current policy, nats: flat with `shape` or `offsets`, or one array per sequence
 * @param oldLogProbs log-probs under the policy that sampled, in the same form
 * @param rewards one per sequence
 * @returns the objective to maximise, its gradient and all intermediates; arrays float64 if an input is, else float32
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (empty sequences too), _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER
 * @see Zheng et al. 2025, Group Sequence Policy Optimization, equations 5 to 7 (the objective, advantages, ratio)
 */
export function sequencePolicyObjective(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  rewards: FloatArray,
  options: SequencePolicyOptions & NamedGroups,
): SequencePolicyResult;
export function sequencePolicyObjective(
  logProbs: readonly FloatArray[],
  oldLogProbs: readonly FloatArray[],
  rewards: FloatArray,
  options: SequencePolicyOptions & NamedGroups,
): SequencePolicyResult<FloatArray[]>;
export function sequencePolicyObjective(
  logProbs: FloatArray | readonly FloatArray[],
  oldLogProbs: FloatArray | readonly FloatArray[],
  rewards: FloatArray,
  options: SequencePolicyOptions & NamedGroups,
): SequencePolicyResult<FloatArray | FloatArray[]> {
  const clip = needClipRange(OP, options);
  const emptySequence = EMPTY_SEQUENCE[needWord(OP, "emptySequence", options.emptySequence ?? "throw", EMPTY_SEQUENCE)];
  const flat = flatten(logProbs, oldLogProbs, options);
  const rows = needRows(OP, flat.layout);
  const mask = optionalMask(OP, "mask", options.mask, rows.n, rows.meaning);
  if (emptySequence === "throw") refuseEmpty(rows, mask);

  const { groups, groupOffsets, backend, maxLogRatio } = options;
  const where = { backend, collective: options.collective };
  const checked = needFloats(OP, "rewards", rewards, rows.B, "one per sequence");
  const wide = asFloat(checked, widestFloat(checked, flat.logProbs, flat.oldLogProbs));
  const items = needItems(OP, "rewards", wide, { groups, groupOffsets });
  const { normalized, means, stds } = normalizeItems(OP, items, { ddof: 0, epsilon: options.epsilon ?? 0, ...where });

  const result = evaluateClipped(OP, flat.logProbs, flat.oldLogProbs, normalized, {
    level: "sequence",
    ...flat.layout,
    ...clip,
    ...where,
    mask: mask ?? undefined,
    maxLogRatio,
    outputs: ["losses", "ratios", "clipped", "gradLogProbs"],
  });
  const { objective, gradLogProbs, losses, ratios, clipped, clipFraction, meanRatio, maxRatio } = result;
  const width = (of: number | FloatArray, b: number): number => (typeof of === "number" ? of : of[b]!);
  const perRow = (_: unknown, b: number): FloatArray => gradLogProbs.subarray(rowBegin(rows, b), rowEnd(rows, b));
  return {
    objective,
    gradLogProbs: isFloatArray(logProbs) ? gradLogProbs : Array.from({ length: rows.B }, perRow),
    advantages: normalized,
    rewardMean: means,
    rewardStd: stds,
    ratios,
    clippedRatios: ratios.map((ratio, b) =>
      Math.min(Math.max(ratio, 1 - width(clip.clipLow, b)), 1 + width(clip.clipHigh, b)),
    ),
    perSequence: losses.map((loss) => 0 - loss),
    clipped,
    clipFraction,
    meanRatio,
    maxRatio,
  };
}
