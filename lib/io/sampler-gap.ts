// How far the sampler's log-probs are from the trainer's own: the same tokens, the same weights, two programs.
import { optionError, SurprisalError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import type { Rollout } from "./record";

export interface SamplerGapOptions {
  /** The log-probs that the sampler's are compared with. Default `"recomputedLogProbs"`. */
  readonly against?: "recomputedLogProbs" | "oldLogProbs";
  /** Differences beyond this count as large; nats. Default 0.1. */
  readonly large?: number;
}

export interface SamplerGap {
  /** Rollouts that have both. */
  readonly rollouts: number;
  /** Rollouts that lack one of the two: not compared. */
  readonly incomplete: number;
  /** Kept tokens compared. */
  readonly tokens: number;
  /** Kept tokens where one of the two is NaN or infinite: not in the numbers below. */
  readonly nonFinite: number;
  /** Mean of sampler − trainer: an estimate of KL(sampler ‖ trainer), since the sampler drew the tokens; nats. NaN without tokens. */
  readonly kl: number;
  /** The same by mean of e^d − 1 − d, d = trainer − sampler: never negative, less noise; nats. */
  readonly klNonNegative: number;
  /** Mean and largest |difference|; nats. */
  readonly meanAbs: number;
  readonly maxAbs: number;
  /** Where the largest one is. */
  readonly worst:
    | { readonly rollout: number; readonly token: number; readonly sampler: number; readonly trainer: number }
    | undefined;
  /** Share of tokens with any difference, and with a large one. */
  readonly shareDifferent: number;
  readonly shareLarge: number;
}

/** Compares one rollout at a time and keeps only sums, for sources that do not fit into memory. */
export class SamplerGapMeter {
  readonly #against: "recomputedLogProbs" | "oldLogProbs";
  readonly #large: number;
  #seen = 0;
  #rollouts = 0;
  #tokens = 0;
  #nonFinite = 0;
  #difference = 0;
  #k3 = 0;
  #abs = 0;
  #maxAbs = 0;
  #different = 0;
  #largeOnes = 0;
  #worst: SamplerGap["worst"];

  constructor(options: SamplerGapOptions = {}) {
    this.#against = options.against ?? "recomputedLogProbs";
    needWord("samplerGap", "against", this.#against, ["recomputedLogProbs", "oldLogProbs"]);
    this.#large = needNumber("samplerGap", "large", options.large ?? 0.1, { min: 0 });
  }

  /** @throws SurprisalError ERR_SURPRISAL_SHAPE where the two have different lengths */
  add(rollout: Rollout): void {
    const index = this.#seen++;
    const { samplerLogProbs: sampler, mask } = rollout;
    const trainer = rollout[this.#against];
    if (!sampler || !trainer) return;
    if (sampler.length !== trainer.length || (mask && mask.length !== sampler.length))
      throw new SurprisalError(
        "ERR_SURPRISAL_SHAPE",
        `samplerGap: rollouts[${index}].${this.#against} has ${trainer.length} entries, samplerLogProbs ${sampler.length}${mask ? `, mask ${mask.length}` : ""}; they belong to the same tokens`,
        {
          op: "samplerGap",
          name: `rollouts[${index}].${this.#against}`,
          got: trainer.length,
          want: `${sampler.length}`,
        },
      );
    ++this.#rollouts;
    for (let t = 0; t < sampler.length; ++t)
      if (!mask || mask[t] !== 0) this.#token(index, t, sampler[t]!, trainer[t]!);
  }

  #token(rollout: number, token: number, sampler: number, trainer: number): void {
    const d = trainer - sampler;
    if (!Number.isFinite(d)) {
      ++this.#nonFinite;
      return;
    }
    ++this.#tokens;
    this.#difference -= d;
    this.#k3 += Math.expm1(d) - d;
    const abs = Math.abs(d);
    this.#abs += abs;
    if (abs > 0) ++this.#different;
    if (abs > this.#large) ++this.#largeOnes;
    if (this.#worst !== undefined && abs <= this.#maxAbs) return;
    this.#maxAbs = abs;
    this.#worst = { rollout, token, sampler, trainer };
  }

  result(): SamplerGap {
    const n = this.#tokens;
    return {
      rollouts: this.#rollouts,
      incomplete: this.#seen - this.#rollouts,
      tokens: n,
      nonFinite: this.#nonFinite,
      kl: this.#difference / n,
      klNonNegative: this.#k3 / n,
      meanAbs: this.#abs / n,
      maxAbs: n > 0 ? this.#maxAbs : NaN,
      worst: this.#worst,
      shareDifferent: this.#different / n,
      shareLarge: this.#largeOnes / n,
    };
  }
}

/**
 * Returns how far the sampler's log-probs are from those that the trainer computes for the same tokens. What lies under a mask is
 * not read.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, or _SHAPE where the two have different lengths
 */
export function samplerGap(rollouts: Iterable<Rollout>, options: SamplerGapOptions = {}): SamplerGap {
  if (typeof (rollouts as Partial<Iterable<Rollout>>)[Symbol.iterator] !== "function")
    throw optionError(
      "samplerGap",
      "rollouts",
      rollouts,
      "an array or another iterable; SamplerGapMeter takes one at a time",
    );
  const meter = new SamplerGapMeter(options);
  for (const rollout of rollouts) meter.add(rollout);
  return meter.result();
}
