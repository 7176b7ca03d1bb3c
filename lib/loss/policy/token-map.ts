// Losses whose gradient at a token depends on that token alone: what each computes, apart from the batch.
import type { CheckedPolicyBatch } from "./policy-batch";
import { evaluatePolicy, policyResult, type TokenFormCall } from "./evaluate-policy";
import { ownImportance } from "./importance-kl-term";
import { evaluateAtRowRatio, ofRowRatio, type RatioLevelOption } from "./row-ratio";
import type { PolicyLossResult } from "./policy-loss-result";
import type { LossMetrics } from "./policy-metrics";
import type { PolicyLossOptions } from "./policy-loss-options";

export interface TokenMap<Options extends PolicyLossOptions> {
  /** The options with those of their preset under them. */
  readonly resolve: (options: Options) => Options;
  /** The form with its numbers, of options whose preset is resolved. */
  readonly form: (op: string, options: Options) => TokenFormCall["form"];
  readonly metrics: LossMetrics;
  /** Whether the gradient goes through the ratio. Where it is said, the loss takes `ratioLevel`. */
  readonly throughRatio?: boolean;
}

/** Whether a token's loss depends on the ratios of its row. */
function seesRow<Options extends PolicyLossOptions>(
  op: string,
  { throughRatio }: TokenMap<Options>,
  options: Options,
): boolean {
  return throughRatio !== undefined && ofRowRatio(op, options as RatioLevelOption);
}

/** Whether a loss of these options is one that sees a token at a time, from its logit to its gradient. */
export function seesTokensAlone<Options extends PolicyLossOptions>(
  op: string,
  map: TokenMap<Options>,
  options: Options,
): boolean {
  return !seesRow(op, map, options) && (options.kl === undefined || ownImportance(op, options.kl) === null);
}

/** The loss of a batch, in the name of the public function `op`. */
export function evaluateTokenMap<Options extends PolicyLossOptions>(
  op: string,
  map: TokenMap<Options>,
  batch: CheckedPolicyBatch,
  options: Options,
): PolicyLossResult {
  if (seesRow(op, map, options))
    return evaluateAtRowRatio(op, map.form(op, options), map.metrics, batch, options, map.throughRatio === true);
  return policyResult(
    evaluatePolicy(op, batch, options, { skeleton: "token", form: map.form(op, options) }),
    options,
    map.metrics,
  );
}
