// Which tokens a loss may still move: those whose probability has not left a region around the old policy's.
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needsHostArrays } from "../../core/device-ops";
import { optionError } from "../../core/errors";
import { needNumber, needNumbers, needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { eachKept, type MaskedRows, needMaskedRows, type RowLayout, type Rows } from "../../core/row-layout";

for (const op of ["trustRegionMask", "dppoLoss", "dppoTvLoss", "dppoKlLoss"])
  needsHostArrays(op, "whether a token is inside of the region is decided in host memory");

const MEASURES = ["ratio", "probability", "binaryKl"] as const;
const SIDES = ["advantage", "advantageOrLow", "both"] as const;

/** A region around the old policy o, with r = exp(ℓ − o), p = exp(ℓ), p_o = exp(o). */
export interface TrustRegion {
  /**
   * What is bounded: `"ratio"`: 1 − low <= r <= 1 + high; `"probability"`: −low <= p − p_o <= high (total variation);
   * `"binaryKl"`: the KL of old to new between this token and all others is at most `high` where p > p_o, `low` where p < p_o.
   */
  readonly measure: (typeof MEASURES)[number];
  /** Below, >= 0; Infinity: no bound. One for all, one per row, or one per token. */
  readonly low: number | FloatArray;
  /** Above, likewise. */
  readonly high: number | FloatArray;
  /**
   * Which bound holds a token: `"advantage"`, the default, the one that A pushes it over: `high` for A > 0, `low` for A < 0, none for
   * A = 0; `"advantageOrLow"`, the same with `low` for A = 0; `"both"`, both, whatever A.
   */
  readonly sides?: (typeof SIDES)[number];
}

export interface TrustRegionOptions extends RowLayout, TrustRegion {
  /** A: one per row or token. Needed unless "sides" is `"both"`. */
  readonly advantages?: FloatArray;
  /** What an advantage belongs to. Default: by the length of `advantages`. */
  readonly advantagesPer?: Per;
  /** 1 = a token of the policy; the others are not read and get 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** A checked region. */
export interface CheckedRegion {
  readonly measure: number;
  readonly sides: number;
  readonly low: (b: number, i: number) => number;
  readonly high: (b: number, i: number) => number;
}

function needBound(
  op: string,
  name: string,
  bound: unknown,
  { rows, mask }: MaskedRows,
): (b: number, i: number) => number {
  const width = { min: 0, infinite: true } as const;
  if (typeof bound === "number") {
    const number = needNumber(op, name, bound, width);
    return () => number;
  }
  const { array, perToken } = needPerRowOrToken(op, name, bound, rows, undefined);
  needNumbers(op, name, array, width, (k) => !perToken || mask?.[k] !== 0);
  return perToken ? (_, i) => array[i]! : (b) => array[b]!;
}

/** The region, checked. Bounds under the mask are not read. */
export function needRegion(op: string, given: TrustRegion, where: MaskedRows): CheckedRegion {
  return {
    measure: needWord(op, "measure", given.measure, MEASURES),
    sides: needWord(op, "sides", given.sides ?? "advantage", SIDES),
    low: needBound(op, "low", given.low, where),
    high: needBound(op, "high", given.high, where),
  };
}

/** KL between the old and the new distribution over this token and all others. */
function binaryKl(l: number, o: number): number {
  const old = Math.exp(o);
  return old * (o - l) + (1 - old) * Math.log((1 - old + 1e-8) / (1 - Math.exp(l) + 1e-8));
}

/** How far above and below the old policy a token is, in the unit of its bounds. */
function distances(measure: number, l: number, o: number): readonly [above: number, below: number] {
  if (measure === 2) {
    const kl = binaryKl(l, o);
    return [l > o ? kl : 0, l < o ? kl : 0];
  }
  const moved = measure === 1 ? Math.exp(l) - Math.exp(o) : Math.exp(l - o) - 1;
  return [moved, -moved];
}

/** 1 = a token inside, of checked arrays. A distance that is NaN stays inside: the loss of its token says so. */
export function insideRegion(
  rows: Rows,
  mask: Uint8Array | null,
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  advantages: PerRowOrToken | null,
  { measure, sides, low, high }: CheckedRegion,
): Uint8Array {
  const inside = new Uint8Array(rows.n);
  eachKept({ rows, mask }, (i, b) => {
    const A = advantages ? advantages.array[advantages.perToken ? i : b]! : 0;
    const [above, below] = distances(measure, logProbs[i]!, oldLogProbs[i]!);
    const held = sides === 2 ? [true, true] : [A > 0, sides === 1 ? A <= 0 : A < 0];
    const outside = (held[0]! && above > high(b, i)) || (held[1]! && below > low(b, i));
    inside[i] = outside ? 0 : 1;
  });
  return inside;
}

/**
 * The tokens that are inside of a trust region, as a `termMask` of a policy loss: DPPO's regions, IcePop's for the current policy,
 * and bounds per row or per token on either side.
 *
 * @param logProbs ℓ under the policy that learns, nats; [n] as `shape` or `offsets` say
 * @param oldLogProbs o under the policy that the region is around
 * @returns 1 = inside, [n]; 0 outside and under the mask
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Qi et al. 2026, Rethinking the Trust Region in LLM Reinforcement Learning (DPPO)
 */
export function trustRegionMask(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  options: TrustRegionOptions,
): Uint8Array {
  const op = "trustRegionMask";
  const { rows, mask } = needMaskedRows(op, options);
  const { n, meaning } = rows;
  const region = needRegion(op, options, { rows, mask });
  if (region.sides !== 2 && options.advantages === undefined)
    throw optionError(op, "advantages", undefined, 'advantages, unless sides is "both"');
  const advantages = options.advantages
    ? needPerRowOrToken(op, "advantages", options.advantages, rows, options.advantagesPer)
    : null;
  return insideRegion(
    rows,
    mask,
    needFloats(op, "logProbs", logProbs, n, meaning),
    needFloats(op, "oldLogProbs", oldLogProbs, n, meaning),
    advantages,
    region,
  );
}
