// The ways to reject tokens or rows by how far apart two policies are, and their thresholds.
import { optionError, show } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import type { MismatchStatistic } from "../../ops/correction";
import type { Bounds } from "./mismatch";

/**
 * What is compared with a threshold: k1 = −d, k2 = d²/2 or k3 = exp(d) − 1 − d of a token (`token_`), or the sum, mean or
 * maximum over the kept tokens of a row (`seq_sum_`, `seq_mean_`, `seq_max_`).
 */
const REJECTION_OPTIONS = [
  "token_k1",
  "token_k2",
  "token_k3",
  "seq_sum_k1",
  "seq_sum_k2",
  "seq_sum_k3",
  "seq_mean_k1",
  "seq_mean_k2",
  "seq_mean_k3",
  "seq_max_k2",
  "seq_max_k3",
] as const;

export type RejectionOption = (typeof REJECTION_OPTIONS)[number];

/**
 * k2, k3: a number U > 0, the largest statistic kept. k1: bounds of the ratio exp(k1) = rollout / training, `"lower_upper"`,
 * or one number U for 1/U … U. Numbers may be written as text.
 */
export type RejectionThreshold = number | `${number}` | `${number}_${number}`;

/** An option taken apart, with bounds in the unit of its statistic. */
export interface RejectionRule {
  readonly option: RejectionOption;
  readonly statistic: MismatchStatistic & ("k1" | "k2" | "k3");
  readonly over: "token" | "sum" | "mean" | "max";
  readonly bounds: Bounds;
}

/** The one or two numbers of a threshold, NaN for what is none. */
export function numbersOf(threshold: unknown): number[] {
  const text =
    typeof threshold === "number" ? String(threshold) : typeof threshold === "string" ? threshold.trim() : "";
  return text.split("_").map((part) => (part.trim() === "" ? NaN : Number(part)));
}

function needThreshold(op: string, name: string, threshold: unknown, signed: boolean): Bounds {
  const parts = numbersOf(threshold);
  const [first, second = first] = parts as [number, number?];
  const sound = parts.length <= (signed ? 2 : 1) && parts.every((x) => x > 0 && Number.isFinite(x));
  const lower = parts.length === 2 ? first : 1 / second;
  if (!sound || (signed && lower > second))
    throw optionError(
      op,
      name,
      threshold,
      signed ? 'a number >= 1, or "lower_upper" with 0 < lower <= upper' : "a number > 0",
    );
  return signed ? { low: Math.log(lower), high: Math.log(second) } : { low: -Infinity, high: second };
}

function asList(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? (given as readonly unknown[]) : [given];
}

/** Checks options and thresholds, which the caller wrote under `at`. An option that comes again is dropped, with its threshold. */
export function needRules(op: string, options: unknown, thresholds: unknown, at = ""): RejectionRule[] {
  const names = asList(options) as readonly RejectionOption[];
  if (names.length === 0)
    throw optionError(op, `${at}options`, options, `one or several of ${REJECTION_OPTIONS.map(show).join(", ")}`);
  const limits = asList(thresholds);
  if (limits.length !== 1 && limits.length !== names.length)
    throw optionError(op, `${at}thresholds`, thresholds, `1 or ${names.length}: one for all options, or one for each`);
  const rules = new Map<RejectionOption, RejectionRule>();
  names.forEach((option, i) => {
    needWord(op, `${at}options`, option, REJECTION_OPTIONS);
    const statistic = option.slice(-2) as RejectionRule["statistic"];
    const over = option.split("_").at(-2)!;
    const bounds = needThreshold(
      op,
      `${at}thresholds (${option})`,
      limits.length === 1 ? limits[0] : limits[i],
      statistic === "k1",
    );
    if (!rules.has(option)) rules.set(option, { option, statistic, over: over as RejectionRule["over"], bounds });
  });
  return [...rules.values()];
}
