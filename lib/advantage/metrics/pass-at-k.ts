// pass@k: the chance that at least one of k samples is correct, estimated from n >= k samples without bias.
import { optionalMask } from "../../core/arrays";
import { dtypeError, optionError } from "../../core/errors";
import { type GroupLayout, needGroups, type NamedGroups } from "../../core/groups";
import { needNumber } from "../../core/option-checks";
import { average } from "../scalar-metrics";

/**
 * The unbiased estimate of pass@k from n samples of which c are correct:
 *
 *     1 − C(n − c, k) / C(n, k)        the share of k-subsets of the samples that hold a correct one
 *
 * @param samples n, an integer >= 1
 * @param correct c, an integer in [0, n]
 * @param k an integer in [1, n]
 * @returns in [0, 1]; relative error a few 1e-16 times min(k, c), also where the chance is tiny
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument
 * @see Chen et al. 2021, Evaluating Large Language Models Trained on Code, equation 1 (the unbiased estimator)
 */
export function passAtK(samples: number, correct: number, k: number): number {
  const op = "passAtK";
  needNumber(op, "samples", samples, { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true });
  needNumber(op, "correct", correct, { min: 0, max: samples, integer: true });
  needNumber(op, "k", k, { min: 1, max: samples, integer: true });
  return estimate(samples, correct, k);
}

function estimate(n: number, c: number, k: number): number {
  if (c === 0) return 0;
  if (c + k > n) return 1;
  // The quotient is a product of min(k, c) factors 1 − x, as it is the same with k and c exchanged. In logarithms, since
  // 1 minus a product near 1 would cancel.
  const [few, many] = k < c ? [k, c] : [c, k];
  let log = 0;
  for (let i = 0; i < few; ++i) log += Math.log1p(-many / (n - i));
  return -Math.expm1(log);
}

export interface GroupPassAtKOptions extends GroupLayout {
  /** One k, or several: each an integer >= 1. */
  readonly k: number | readonly number[];
}

export interface GroupPassAtKResult {
  /** pass@k averaged over the groups with at least k samples, one per k; NaN where there is no such group. */
  readonly means: Float64Array;
  /** One per k and group, [ks, groups]; NaN for a group with fewer than k samples. */
  readonly estimates: Float64Array;
  /** Samples and correct samples, one per group. */
  readonly counts: Int32Array;
  readonly correctCounts: Int32Array;
  /** The group number of each sample: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/**
 * The unbiased estimate of pass@k for each group of samples (the rollouts of one prompt), and its mean over groups.
 *
 * @param correct one per sample, 1 = correct
 * @param options `k`; `groups` (a label per sample, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function groupPassAtK(correct: Uint8Array, options: GroupPassAtKOptions & NamedGroups): GroupPassAtKResult {
  const op = "groupPassAtK";
  const flags = optionalMask(
    op,
    "correct",
    correct,
    ArrayBuffer.isView(correct) ? correct.length : 0,
    "one per sample",
  );
  if (!flags) throw dtypeError(op, "correct", correct, "a Uint8Array of 0 and 1");
  const ks = typeof options.k === "number" ? [options.k] : options.k;
  if (!Array.isArray(ks)) throw optionError(op, "k", ks, "an integer >= 1, or an array of them");
  ks.forEach((k, i) => needNumber(op, typeof options.k === "number" ? "k" : `k[${i}]`, k, { min: 1, integer: true }));
  const groups = needGroups(op, options, flags.length);

  const counts = new Int32Array(groups.G);
  const correctCounts = new Int32Array(groups.G);
  groups.ids.forEach((g, i) => {
    ++counts[g]!;
    if (flags[i] !== 0) ++correctCounts[g]!;
  });
  const estimates = new Float64Array(ks.length * groups.G);
  const means = Float64Array.from(ks as readonly number[], (k, row) => {
    const ofGroups = estimates.subarray(row * groups.G, (row + 1) * groups.G);
    counts.forEach((n, g) => (ofGroups[g] = k <= n ? estimate(n, correctCounts[g]!, k) : NaN));
    const counted = Array.from(ofGroups).filter((x) => !Number.isNaN(x));
    return counted.length > 0 ? average(counted) : NaN;
  });
  return { means, estimates, counts, correctCounts, groupIds: groups.ids };
}
