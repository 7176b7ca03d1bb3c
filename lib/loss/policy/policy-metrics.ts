// What a policy loss logs, under the names that dashboards of each framework know.
import type { LossFigure } from "../../ops/loss";
import type { Evaluation } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";

/** A column of the rows' figures, or its negative. */
type FigureTerm = LossFigure | `-${LossFigure}` | "none";

/** How a loss fills the metrics of each framework in. */
export interface LossMetrics {
  /** verl: metric → the figure whose mean over kept tokens it is. */
  readonly verl: Readonly<Record<string, FigureTerm>>;
  /** TRL: how clipping is reported. `"tokens"`: shares of tokens; `"rows"`: of rows; `"above"`: CISPO's one share; `"weight"`: VESPO's φ. */
  readonly trl: "tokens" | "rows" | "above" | "weight" | "none";
  /** SkyRL: what it logs beside the share of clipped tokens. */
  readonly skyrl?: (e: Evaluation, options: PolicyLossOptions) => Record<string, number>;
}

function verlMean(e: Evaluation, term: FigureTerm): number {
  if (term === "none") return 0;
  const negative = term.startsWith("-");
  const name = (negative ? term.slice(1) : term) as LossFigure;
  const mean = e.figures[name] / (e.figures.kept + 1e-8);
  return negative ? 0 - mean : mean;
}

/** Shares below and above the band of each row that has tokens, or of every row where the ratio is the row's. */
function clipShares(e: Evaluation, per: "tokens" | "rows") {
  const { kept, below, above } = e.rowFigures;
  const unit = (b: number): number => (per === "rows" ? 1 : kept[b]!);
  const part = (hit: Float64Array, b: number): number => (per === "rows" ? Number(hit[b]! > 0) : hit[b]!);
  let units = 0;
  let low = 0;
  let high = 0;
  let lowMin = Infinity;
  let highMax = -Infinity;
  for (let b = 0; b < kept.length; ++b) {
    if (unit(b) === 0) continue;
    units += unit(b);
    low += part(below, b);
    high += part(above, b);
    lowMin = Math.min(lowMin, part(below, b) / unit(b));
    highMax = Math.max(highMax, part(above, b) / unit(b));
  }
  const share = (count: number): number => (units > 0 ? count / units : 0);
  return {
    low: share(low),
    high: share(high),
    region: share(low + high),
    lowMin: units > 0 ? lowMin : 0,
    highMax: units > 0 ? highMax : 0,
  };
}

function trlClipping(e: Evaluation, how: LossMetrics["trl"]): Record<string, number> {
  const kept = e.figures.kept;
  switch (how) {
    case "none":
      return {};
    case "above":
      return { cispo_clip_ratio: e.figures.above / Math.max(kept, 1) };
    case "weight":
      return { "vespo/phi_seq_mean": e.figures.rowRatio / Math.max(e.rows.B, 1) };
    default: {
      const shares = clipShares(e, how);
      return {
        "clip_ratio/low_mean": shares.low,
        "clip_ratio/high_mean": shares.high,
        "clip_ratio/region_mean": shares.region,
        "clip_ratio/low_min": shares.lowMin,
        "clip_ratio/high_max": shares.highMax,
      };
    }
  }
}

function trlMetrics(e: Evaluation, { trl }: LossMetrics): Record<string, number> {
  const metrics: Record<string, number> = {};
  if (e.kl) metrics["kl"] = e.figures.kl / Math.max(e.figures.kept, 1);
  if (e.meanEntropy !== null) metrics["entropy"] = e.meanEntropy;
  if (e.entropyCoefficient !== null) {
    metrics["policy_loss"] = (e.loss - e.entropyLoss) * e.accumulation;
    metrics["entropy_coef"] = e.entropyCoefficient;
  }
  return { ...metrics, ...trlClipping(e, trl) };
}

/** Mean over kept tokens, 0 without any. */
function mean(e: Evaluation, name: LossFigure, factor = 1): number {
  const kept = e.figures.kept;
  return kept > 0 ? (factor * e.figures[name]) / kept : 0;
}

function openrlhfMetrics(e: Evaluation): Record<string, number> {
  const metrics = { clip_ratio: mean(e, "clipped"), ppo_kl: e.oldGap ?? mean(e, "logRatio", -1) };
  return e.samplerGap === null ? metrics : { ...metrics, vllm_kl: e.samplerGap };
}

/** TRL's PPO averages the squares over every position, padding included. */
function trlPpoMetrics(e: Evaluation): Record<string, number> {
  const { n } = e.rows;
  return { approxkl: n > 0 ? (0.5 * e.figures.squaredLogRatio) / n : 0, pg_clipfrac: mean(e, "clipped") };
}

function pufferlibMetrics(e: Evaluation): Record<string, number> {
  return { old_approx_kl: mean(e, "logRatio", -1), approx_kl: mean(e, "ratioK3"), clipfrac: mean(e, "outside") };
}

/** The metrics of one evaluation. Means over no tokens are 0. */
export function policyMetrics(e: Evaluation, options: PolicyLossOptions, metrics: LossMetrics): Record<string, number> {
  const names = options.metricNames ?? "verl";
  switch (names) {
    case "trl":
      return trlMetrics(e, metrics);
    case "trlPpo":
      return trlPpoMetrics(e);
    case "openrlhf":
      return openrlhfMetrics(e);
    case "pufferlib":
      return pufferlibMetrics(e);
    case "skyrl":
      return { clip_ratio: mean(e, "clipped"), ...metrics.skyrl?.(e, options) };
    case "verl":
      return Object.fromEntries(Object.entries(metrics.verl).map(([name, term]) => [name, verlMean(e, term)]));
  }
}
