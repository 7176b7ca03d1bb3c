// Losses whose gradient at a token depends on that token alone: what each computes, apart from the batch.
import type { PresetFunction } from "../../presets";
import type { PolicyBatch } from "./batch";
import { evaluatePolicy, type PolicyLossResult, policyResult, type TokenFormCall } from "./evaluate";
import type { LossMetrics } from "./metrics";
import type { PolicyLossOptions } from "./options";

export interface TokenMap<Options extends PolicyLossOptions> {
  /** The public function, by whose name presets know the loss. */
  readonly name: PresetFunction;
  /** The form with its numbers, of options whose preset is resolved. */
  readonly form: (op: string, options: Options) => TokenFormCall["form"];
  readonly metrics: LossMetrics;
}

/** The loss of a batch, in the name of the public function `op`. */
export function evaluateTokenMap<Options extends PolicyLossOptions>(op: string, map: TokenMap<Options>, batch: PolicyBatch, options: Options): PolicyLossResult {
  return policyResult(evaluatePolicy(op, batch, options, { skeleton: "token", form: map.form(op, options) }), options, map.metrics);
}
