// maj@n: the value of the answer that most samples gave.
import type { FloatArray } from "../../core/dtype";
import { dtypeError, optionError, SurprisalError } from "../../core/errors";
import { needSamples } from "./best-at-n";
import { type DrawOptions, optionalDraws } from "./draws";
import { meanAndStd } from "./mean-and-std";

/** The answer of each sample, as it is compared: an extracted number or string. */
export type Predictions = readonly (string | number | bigint | boolean | null)[];

export interface MajorityAtNResult {
  /** Mean and std (ddof 0) over the draws. */
  readonly mean: number;
  readonly std: number;
}

export function needPredictions(op: string, predictions: unknown, count: number): Predictions {
  if (!Array.isArray(predictions)) throw dtypeError(op, "predictions", predictions, "an array, one a sample");
  if (predictions.length !== count)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: predictions has ${predictions.length} entries, expected ${count}, one a sample`,
      {
        op,
        name: "predictions",
        got: predictions.length,
        want: `${count}, one a sample`,
      },
    );
  return predictions as Predictions;
}

/** The first sample of the most frequent prediction among `samples`; the one seen first wins a tie. */
function winner(predictions: Predictions, samples: Iterable<number>): number {
  const votes = new Map<unknown, { first: number; count: number }>();
  for (const i of samples) {
    const vote = votes.get(predictions[i]);
    if (vote) ++vote.count;
    else votes.set(predictions[i], { first: i, count: 1 });
  }
  // A Map keeps the order of first appearance.
  return [...votes.values()].reduce((best, vote) => (vote.count > best.count ? vote : best)).first;
}

/**
 * The value of the first sample of the most frequent prediction. Of predictions equally frequent the one that came first wins.
 *
 * @param predictions one per sample; compared like keys of a Map
 * @param values one per sample, at least one
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _BUFFER, naming the argument
 */
export function majorityValue(predictions: Predictions, values: FloatArray): number {
  const op = "majorityValue";
  const samples = needSamples(op, "values", values);
  return samples[winner(needPredictions(op, predictions, samples.length), samples.keys())]!;
}

/**
 * Mean and std of the majority's value over draws of n samples with replacement.
 *
 * @param options `n`; `seed` and `draws`, or `indices`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function majorityAtN(predictions: Predictions, values: FloatArray, options: DrawOptions): MajorityAtNResult {
  const op = "majorityAtN";
  const samples = needSamples(op, "values", values);
  const checked = needPredictions(op, predictions, samples.length);
  const draws = optionalDraws(op, options);
  if (!draws) throw optionError(op, "seed", undefined, "an integer in [0, 2^32), or indices");
  const won: number[] = [];
  draws(samples.length, (indices) => won.push(samples[winner(checked, indices)]!));
  const [mean, std] = meanAndStd(won);
  return { mean, std };
}
