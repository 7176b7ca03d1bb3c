// What a list of the likeliest tokens says about the entropy of the whole distribution: an interval, never a value.
import { optionError, SurprisalError, valueError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import type { TopK } from "./record";

/**
 * Entropy per token between two bounds, in nats; [T]. This is no array and no op takes it: `pickEntropies` makes one, and the
 * caller says which.
 */
export interface EntropyBounds {
  readonly kind: "entropy-bounds";
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** Probability that the listed tokens have together. */
  readonly headMass: Float64Array;
  readonly vocab: number;
}

export interface EntropyBoundsOptions {
  /**
   * Log-probs of the sampled tokens; [T]. Servers add the sampled token to the k likeliest, however unlikely it is. Where the
   * smallest entry is not the sampled token, nothing outside the list is likelier than it. Default: it may be, everywhere,
   * which gives a lower low end.
   */
  readonly sampled?: Float64Array;
}

/** Beyond rounding: the numbers are no probabilities of one distribution. */
const EXCESS = 1e-3;

const surprise = (p: number): number => (p > 0 ? -p * Math.log(p) : 0);

/** Smallest entropy term of mass r whose parts are at most cap each: as many whole parts as fit, and the rest. */
function concentrated(r: number, cap: number): number {
  const part = Math.min(cap, r);
  if (part <= 0) return 0;
  const whole = Math.floor(r / part);
  return whole * surprise(part) + surprise(Math.max(0, r - whole * part));
}

interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly mass: number;
}

/** Bounds of one token from its listed log-probs, likeliest first. */
function boundsOf(sorted: Float64Array, vocab: number, extra: boolean): Bounds {
  const k = sorted.length;
  if (k === 0) return { low: 0, high: Math.log(vocab), mass: 0 };
  let head = 0;
  // 1 − Σp without cancellation in the largest p.
  let tail = -Math.expm1(sorted[0]!);
  for (let i = 0; i < k; ++i) {
    const p = Math.exp(sorted[i]!);
    head += p === 0 ? 0 : -p * sorted[i]!;
    if (i > 0) tail -= p;
  }
  const r = k === vocab ? 0 : Math.max(0, tail);
  // Outside the list nothing is likelier than the smallest entry, or than the one before it where the smallest is an extra.
  const cap = extra ? (k > 1 ? Math.exp(sorted[k - 2]!) : 1) : Math.exp(sorted[k - 1]!);
  const high = head + (r > 0 ? r * Math.log((vocab - k) / r) : 0);
  return { low: Math.min(head + concentrated(r, cap), high), high, mass: 1 - tail };
}

/**
 * Bounds of the entropy at each token from the log-probs of its likeliest tokens. With head mass P = Σ p_i, H_head = −Σ p_i ln p_i,
 * tail r = 1 − P over V − k tokens of at most c each:
 *
 *     high = H_head + r·ln((V − k)/r)                                 the tail is flat
 *     low  = H_head − m·c·ln c − s·ln s,   m = ⌊r/c⌋, s = r − m·c     the tail is as concentrated as it can be
 *
 * c is the smallest listed probability, or the one before it where the smallest may be the sampled token from further down.
 *
 * @param topK the likeliest tokens at each position, as a rollout has them; each token once
 * @param vocab V, the size of the vocabulary
 * @returns an interval per token; NaN where a listed log-prob is NaN
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a vocabulary smaller than a list, _SHAPE, _VALUE where probabilities of one
 * token exceed 1 together
 */
export function entropyBounds(topK: TopK, vocab: number, options: EntropyBoundsOptions = {}): EntropyBounds {
  const op = "entropyBounds";
  needNumber(op, "vocab", vocab, { min: 1, integer: true });
  const { offsets, logProbs } = topK;
  const { sampled } = options;
  const T = offsets.length - 1;
  if (sampled && sampled.length !== T)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: sampled has ${sampled.length} entries, expected ${T}, one per token`,
      { op, name: "sampled", got: sampled.length },
    );
  const result = { low: new Float64Array(T), high: new Float64Array(T), headMass: new Float64Array(T) };
  for (let t = 0; t < T; ++t) {
    const sorted = logProbs
      .slice(offsets[t], offsets[t + 1])
      .sort()
      .reverse();
    if (sorted.length > vocab)
      throw optionError(op, "vocab", vocab, `at least ${sorted.length}, the tokens listed at position ${t}`);
    const { low, high, mass } = boundsOf(sorted, vocab, sampled ? sampled[t] === sorted.at(-1) : true);
    if (mass > 1 + EXCESS)
      throw valueError(
        op,
        `topK.logProbs of token ${t}`,
        mass,
        "log-probs of different tokens of one distribution, at most 1 together",
      );
    result.low[t] = low;
    result.high[t] = high;
    result.headMass[t] = mass;
  }
  return { kind: "entropy-bounds", vocab, ...result };
}

export type EntropyChoice = "low" | "high" | "middle";

/**
 * One number per token from an interval: a choice that the caller makes and can be asked about. A modulation by these is a
 * modulation by a bound, or by the mean of two, and not by the entropy.
 *
 * @returns [T], nats
 * @throws SurprisalError ERR_SURPRISAL_OPTION for another choice
 */
export function pickEntropies(bounds: EntropyBounds, choice: EntropyChoice): Float64Array {
  const op = "pickEntropies";
  needWord(op, "choice", choice, ["low", "high", "middle"]);
  const { low, high } = bounds;
  if (choice !== "middle") return (choice === "low" ? low : high).slice();
  return low.map((x, t) => (x + high[t]!) / 2);
}
