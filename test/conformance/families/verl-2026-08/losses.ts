// verl as of August 2026: policy and value losses, KL terms.
import { verlLosses } from "../../mappings/verl-loss";
import { verlReductions } from "../../mappings/reductions";
import type { Mapping } from "../../mapping";

const family = "verl-2026-08";

/** Unchanged since January, and recorded once. */
const RECORDED_BEFORE = ["compute_policy_loss_gspo", "compute_policy_loss_geo_mean", "compute_policy_loss_sapo"];

/** Its weights are described as verl does it now only when rolloutWeights has today's figures. */
const NOT_YET = ["compute_policy_loss_bypass_mode"];

export const verl202608Losses: readonly Mapping[] = [
  ...verlLosses(family, "verl").filter((mapping) => ![...RECORDED_BEFORE, ...NOT_YET].includes(mapping.function)),
  ...verlReductions(family, "verl"),
];
