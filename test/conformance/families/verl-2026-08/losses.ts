// verl as of August 2026: policy and value losses, KL terms.
import { dppoLoss, type DppoLossOptions, droLoss } from "surprisal";
import type { Inputs } from "../../inputs";
import { batchOf, clipRange, commonOf, outputs, settings, verlLosses } from "../../mappings/verl-loss";
import { verlReductions } from "../../mappings/reductions";
import type { Mapping } from "../../mapping";

const family = "verl-2026-08";

/** Unchanged since January, and recorded once. */
const RECORDED_BEFORE = ["compute_policy_loss_gspo", "compute_policy_loss_geo_mean", "compute_policy_loss_sapo"];

/** Its weights are described as verl does it now only when rolloutWeights has today's figures. */
const NOT_YET = ["compute_policy_loss_bypass_mode"];

const common = commonOf("verl");

function dppo(name: string, measure: NonNullable<DppoLossOptions["measure"]>): Mapping {
  return {
    family,
    function: name,
    ours: "dppoLoss",
    options: `preset "verl", measure "${measure}"`,
    run: (inputs: Inputs, context) => {
      const { clipLow: low, clipHigh: high } = clipRange(inputs);
      const cap = inputs.has("clip_ratio_c") ? inputs.number("clip_ratio_c") : 20;
      const options = { ...common(inputs, context), measure, low, high, ratioCap: cap };
      return outputs(dppoLoss(batchOf(inputs), options));
    },
  };
}

const dro: Mapping = {
  family,
  function: "compute_policy_loss_dro",
  ours: "droLoss",
  options: 'preset "verl"',
  failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
  run: (inputs, context) => {
    const own = settings(inputs);
    const beta = own.has("dro_beta") ? own.number("dro_beta") : (undefined as unknown as number);
    return outputs(droLoss(batchOf(inputs), { ...common(inputs, context), beta }));
  },
};

export const verl202608Losses: readonly Mapping[] = [
  ...verlLosses(family, "verl").filter((mapping) => ![...RECORDED_BEFORE, ...NOT_YET].includes(mapping.function)),
  ...verlReductions(family, "verl"),
  dppo("compute_policy_loss_dppo_tv", "probability"),
  dppo("compute_policy_loss_dppo_kl", "binaryKl"),
  dro,
];
