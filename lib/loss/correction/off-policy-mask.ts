// Which tokens are near enough to the policy that sampled them: one measure of the distance, of tokens or of whole rows, and its bounds.
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needBounds, needNumber, needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { samplerOrKnown, type UnknownSamplerOption } from "../../core/unknown-sampler";
import { needMaskedRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";

/** A distance of o from u, and what of a row stands for it. Below, D = o − u of a token. */
const MEASURES = {
  ratio: (o: number, u: number) => o - u, // its logarithm, until it is compared
  k1: (o: number, u: number) => o - u,
  k2: (o: number, u: number) => (o - u) ** 2 / 2,
  k3: (o: number, u: number) => Math.expm1(u - o) + (o - u),
  binaryKl: (o: number, u: number) => Math.max(binaryKl(o, u), binaryKl(u, o)),
  probability: (o: number, u: number) => Math.exp(o) - Math.exp(u),
  totalVariation: (o: number, u: number) => Math.abs(Math.expm1(o - u)),
} as const;

const LEVELS = ["token", "row"] as const;
const REDUCTIONS = ["mean", "sum", "max", "min"] as const;
const DROPS = ["all", "negative", "outward"] as const;

export interface OffPolicyMaskOptions extends RowLayout, UnknownSamplerOption {
  /**
   * What is bounded, with D = o − u: `"ratio"` e^D, `"k1"` D, `"k2"` D²/2, `"k3"` e^(−D) − 1 + D, `"binaryKl"` the larger KL between this
   * token and all others, either way, `"probability"` e^o − e^u, `"totalVariation"` |e^D − 1|. Default `"ratio"`.
   */
  readonly measure?: keyof typeof MEASURES;
  /** Whether a token stands for itself or the whole row is judged. Segments are rows: give their `offsets` and `mask`. Default `"token"`. */
  readonly level?: (typeof LEVELS)[number];
  /** What of a row's kept tokens is bounded; of ratios it is exp of that of their logarithms. A row without any has D = 0. Default `"mean"`. */
  readonly reduce?: (typeof REDUCTIONS)[number];
  /** Smallest value kept. Default: none. */
  readonly low?: number;
  /** Largest value kept. Default: none. */
  readonly high?: number;
  /** D is clamped to ±logClamp first, > 0, nats. Default: Infinity, off. Not of `"probability"` and `"binaryKl"`. */
  readonly logClamp?: number;
  /**
   * Which tokens outside of the bounds are dropped: `"all"`, the default; `"negative"`, those with A < 0; `"outward"`, those that A pushes
   * farther away, D·A > 0.
   */
  readonly drops?: (typeof DROPS)[number];
  /** A: one per row or token. Needed unless `drops` is `"all"`. */
  readonly advantages?: FloatArray;
  /** What an advantage belongs to. Default: by the length of `advantages`. */
  readonly advantagesPer?: Per;
  /** 1 = a token of the policy; the others are not read and get 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface OffPolicyMaskResult {
  /** 1 = a kept token that is near enough, [n]: a `mask` or a `termMask` of a policy loss. */
  readonly mask: Uint8Array;
  /** What was compared with the bounds, per token or per row, float64; 0 under the mask. */
  readonly values: Float64Array;
  /** The share of the kept tokens that was dropped; 0 where none was kept. */
  readonly droppedFraction: number;
}

/** KL from p to q over this token and all others. */
function binaryKl(logP: number, logQ: number): number {
  const within = (x: number): number => Math.min(Math.max(Math.exp(x), 1e-8), 1 - 1e-8);
  const [p, q] = [within(logP), within(logQ)];
  return p * Math.log(p / q) + (1 - p) * Math.log((1 - p) / (1 - q));
}

function reduceRow(values: readonly number[], how: number): number {
  if (values.length === 0) return 0;
  if (how >= 2) return values.reduce((a, b) => (how === 2 ? Math.max(a, b) : Math.min(a, b)));
  const sum = values.reduce((total, x) => total + x, 0);
  return how === 0 ? sum / values.length : sum;
}

function needAdvantages(op: string, options: OffPolicyMaskOptions, rows: Rows): PerRowOrToken {
  if (options.advantages !== undefined)
    return needPerRowOrToken(op, "advantages", options.advantages, rows, options.advantagesPer);
  throw optionError(op, "advantages", undefined, 'advantages, unless drops is "all"');
}

/**
 * The tokens on which two policies are near enough, by one measure within bounds: the rejection of AReaL, SkyRL, slime, ROLL and
 * open-instruct, OPSM and VACO. A NaN is dropped, unless `unknownSampler` says otherwise. Several rules are several calls, each with the mask of the one before.
 *
 * @param oldLogProbs o: of the trainer, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see DeepSeek-AI 2025, DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models (`"k1"` of rows, `"negative"`); open-instruct,
 * grpo_utils.py (`"totalVariation"`, `"outward"`)
 */
export function offPolicyMask(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: OffPolicyMaskOptions,
): OffPolicyMaskResult {
  const op = "offPolicyMask";
  const { rows, mask: given } = needMaskedRows(op, options);
  const { n, meaning } = rows;
  const old = needFloats(op, "oldLogProbs", oldLogProbs, n, meaning);
  const sampler = samplerOrKnown(op, needFloats(op, "samplerLogProbs", samplerLogProbs, n, meaning), old, options);
  const measure = options.measure ?? "ratio";
  needWord<string>(op, "measure", measure, Object.keys(MEASURES));
  const byRow = needWord(op, "level", options.level ?? "token", LEVELS) === 1;
  const how = needWord(op, "reduce", options.reduce ?? "mean", REDUCTIONS);
  const { low, high } = needBounds(op, options);
  const clamp = needNumber(op, "logClamp", options.logClamp ?? Infinity, { min: 0, above: true, infinite: true });
  const drops = needWord(op, "drops", options.drops ?? "all", DROPS);
  const advantages = drops === 0 ? null : needAdvantages(op, options, rows);

  const apart = (i: number): number => Math.min(Math.max(old[i]! - sampler[i]!, -clamp), clamp);
  const distance = (i: number): number =>
    measure === "probability" || measure === "binaryKl"
      ? MEASURES[measure](old[i]!, sampler[i]!)
      : MEASURES[measure](apart(i), 0);
  const final = (x: number): number => (measure === "ratio" ? Math.exp(x) : x);
  const mask = new Uint8Array(n);
  const values = new Float64Array(byRow ? rows.B : n);
  let kept = 0;
  let dropped = 0;
  for (let b = 0; b < rows.B; ++b) {
    const live: number[] = [];
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (given?.[i] !== 0) live.push(i);
    if (byRow) values[b] = final(reduceRow(live.map(distance), how));
    for (const i of live) {
      const value = byRow ? values[b]! : (values[i] = final(distance(i)));
      const A = advantages ? advantages.array[advantages.perToken ? i : b]! : 0;
      const droppable = drops === 0 || (drops === 1 ? A < 0 : (old[i]! - sampler[i]!) * A > 0);
      mask[i] = (value >= low && value <= high) || !droppable ? 1 : 0;
      ++kept;
      dropped += 1 - mask[i];
    }
  }
  return { mask, values, droppedFraction: kept > 0 ? dropped / kept : 0 };
}
