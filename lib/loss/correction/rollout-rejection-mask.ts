// Tokens and rows on which sampler and trainer are too far apart, taken out of the mask.
import type { FloatArray } from "../../core/dtype";
import { boundMismatch } from "../../ops/correction";
import { mergeMoments } from "../../ops/reduce";
import { type PresetOption, resolvePreset } from "../../presets";
import { bounded, countAbove, countBelow, largest, rowFigures, share, smallest, sum, weightedSpread } from "./figures";
import { type CorrectionMetrics, Mismatch, type RolloutOptions, UNBOUNDED } from "./mismatch";
import { needRules, type RejectionOption, type RejectionRule, type RejectionThreshold } from "./rejection-rules";

const PREFIX = "rollout_rs";

/** What is rejected. */
export interface RejectionRules {
  /** One or several of the eleven; a token is kept where all of them keep it. */
  readonly options: RejectionOption | readonly RejectionOption[];
  /** One threshold for all options, or one for each. */
  readonly thresholds: RejectionThreshold | readonly RejectionThreshold[];
}

export interface RolloutRejectionMaskOptions
  extends RolloutOptions, RejectionRules, PresetOption<"rolloutRejectionMask"> {}

export interface RolloutRejectionMaskResult {
  /** 1 where the mask is and every option keeps the token, else 0. */
  readonly mask: Uint8Array;
  /** `rollout_rs_token_k1_mean`, …; docs/loss/correction.md defines each. */
  readonly metrics: CorrectionMetrics;
}

/** The statistic of each row, for options about rows. 0 for a row without tokens. */
function rowStatistics(batch: Mismatch, { statistic, over }: RejectionRule): Float64Array {
  const { moments } = batch.measure(statistic, batch.logClamp);
  const { kept } = batch;
  if (over === "sum") return moments.sums;
  if (over === "mean") return batch.perToken(moments.sums);
  return moments.maxs.map((max, b) => (kept[b]! > 0 ? max : 0));
}

/** Figures of all options: of the numbers per row, and what is taken out. */
function commonFigures(
  batch: Mismatch,
  rule: RejectionRule,
  rows: Float64Array,
  rejected: ArrayLike<number>,
): CorrectionMetrics {
  const name = `${PREFIX}_${rule.option}`;
  const live = batch.liveRows;
  const values = live.map((b) => rows[b]!);
  const ofRows = rowFigures(name, values, rule.bounds, 0);
  if (rule.statistic === "k1")
    ofRows[`${name}_seq_fraction_low`] = share(countBelow(values, rule.bounds), values.length);
  return {
    ...ofRows,
    [`${name}_masked_fraction`]: share(sum(Array.from(rejected)), batch.tokens),
    [`${name}_seq_masked_fraction`]: share(live.filter((b) => rejected[b]! > 0).length, live.length),
  };
}

function tokenFigures(batch: Mismatch, rule: RejectionRule): CorrectionMetrics {
  const { moments, bounded: within, above, below } = batch.measure(rule.statistic, batch.logClamp, rule.bounds);
  const { backend } = batch.layout;
  const merging = { backend };
  const all = mergeMoments(moments, merging);
  const tokens = batch.tokens;
  const name = `${PREFIX}_${rule.option}`;
  return {
    [`${name}_mean`]: batch.mean(all.sums[0]!, tokens),
    [`${name}_max`]: tokens > 0 ? all.maxs[0]! : 0,
    [`${name}_min`]: tokens > 0 ? all.mins[0]! : 0,
    [`${name}_fraction_high`]: batch.mean(sum(above), tokens),
    [`${name}_fraction_low`]: batch.mean(sum(below), tokens),
    [`${name}_std`]: tokens > 1 ? Math.sqrt(share(mergeMoments(within, merging).m2s[0]!, tokens)) : 0,
    ...commonFigures(
      batch,
      rule,
      batch.perToken(moments.sums),
      above.map((count, b) => count + below[b]!),
    ),
  };
}

function rowOptionFigures(
  batch: Mismatch,
  rule: RejectionRule,
  rows: Float64Array,
  keep: Uint8Array,
): CorrectionMetrics {
  const { kept, tokens, liveRows } = batch;
  const values = liveRows.map((b) => rows[b]!);
  const counts = liveRows.map((b) => kept[b]!);
  const name = `${PREFIX}_${rule.option}`;
  const { variance } = weightedSpread(
    values.map((x) => bounded(x, rule.bounds)),
    counts,
  );
  return {
    [`${name}_mean`]: batch.mean(sum(values.map((x, i) => x * counts[i]!)), tokens),
    [`${name}_max`]: largest(values),
    [`${name}_min`]: smallest(values),
    [`${name}_fraction_high`]: share(countAbove(values, rule.bounds), values.length),
    [`${name}_fraction_low`]: share(countBelow(values, rule.bounds), values.length),
    [`${name}_std`]: tokens > 1 ? Math.sqrt(variance) : 0,
    ...commonFigures(
      batch,
      rule,
      rows,
      kept.map((count, b) => (keep[b] ? 0 : count)),
    ),
  };
}

/** The mask after the rows' verdicts and every token option. Each call takes the mask of the one before. */
function reject(batch: Mismatch, rules: readonly RejectionRule[], keepRows: Uint8Array) {
  const { oldLogProbs, samplerLogProbs, layout, logClamp } = batch;
  const tokenRules = rules.filter(({ over }) => over === "token");
  const passes = tokenRules.length > 0 ? tokenRules : [{ statistic: "k1", bounds: UNBOUNDED } as const];
  const rowFactors = Float64Array.from(keepRows);
  let mask: Uint8Array | undefined;
  let counts = new Int32Array();
  for (const { statistic, bounds } of passes) {
    const own = mask ? { mask, out: { kept: mask } } : {};
    const pass = { ...layout, ...own, statistic, logClamp, ...bounds, rowFactors };
    const result = boundMismatch(oldLogProbs, samplerLogProbs, pass);
    mask = result.kept;
    counts = Int32Array.from(result.keptCounts);
  }
  return { mask: mask!, counts };
}

/** The mask of a batch, in the name of the public function `op` whose caller wrote the rules under `at`. */
export function rejectMismatch(
  op: string,
  batch: Mismatch,
  given: RejectionRules,
  at = "",
): RolloutRejectionMaskResult {
  const rules = needRules(op, given.options, given.thresholds, at);
  const keepRows = new Uint8Array(batch.rows.B).fill(1);
  let metrics: CorrectionMetrics = {};
  for (const rule of rules) {
    if (rule.over === "token") {
      metrics = { ...metrics, ...tokenFigures(batch, rule) };
      continue;
    }
    const values = rowStatistics(batch, rule);
    const keep = Uint8Array.from(values, (x) => (x >= rule.bounds.low && x <= rule.bounds.high ? 1 : 0));
    keep.forEach((verdict, b) => (keepRows[b] = keepRows[b]! & verdict));
    metrics = { ...metrics, ...rowOptionFigures(batch, rule, values, keep) };
  }
  const { mask, counts } = reject(batch, rules, keepRows);
  const { kept, tokens, countedRows: counted } = batch;
  const touched = counted.filter((b) => counts[b]! < kept[b]!).length;
  metrics[`${PREFIX}_masked_fraction`] = share(tokens - sum(counts), tokens);
  metrics[`${PREFIX}_seq_masked_fraction`] = share(touched, counted.length);
  return { mask, metrics };
}

/**
 * The mask without the tokens and rows on which the sampler and the trainer are too far apart, as verl's rollout correction
 * rejects them. With d = clip(o − u, ±logClamp): k1 = −d, k2 = d²/2, k3 = exp(d) − 1 − d.
 *
 *     k1      kept where ln lower <= statistic <= ln upper: a bound on rollout / training
 *     k2, k3  kept where statistic <= U
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function rolloutRejectionMask(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: RolloutRejectionMaskOptions,
): RolloutRejectionMaskResult {
  const op = "rolloutRejectionMask";
  const settings = resolvePreset(op, options.preset, options);
  return rejectMismatch(op, new Mismatch(op, oldLogProbs, samplerLogProbs, settings), settings);
}
