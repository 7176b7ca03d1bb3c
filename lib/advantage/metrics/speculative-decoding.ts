// How well speculative decoding guessed.
import { needIds, type TokenIds } from "../../core/arrays";
import { average } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";

/** Counts of each request. */
export interface SpeculativeDecodingCounts {
  /** Tokens that the draft model proposed. */
  readonly drafts: TokenIds;
  /** Those of them that were taken. */
  readonly accepts: TokenIds;
  /** Passes of the model that verified. */
  readonly verifies: TokenIds;
}

/**
 * Acceptance of speculative decoding, averaged over requests: `rollout/spec_accept_rate` accepts / drafts, and
 * `rollout/spec_accept_length` 1 + accepts / verifies, the tokens that a pass of the model yields. A request without drafts
 * has rate 0, one without passes length 0. No requests: no metrics.
 *
 * @param counts integers, one per request
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _RANGE or _BUFFER, naming the argument
 */
export function speculativeDecodingMetrics(counts: SpeculativeDecodingCounts): MetricRecord {
  const op = "speculativeDecodingMetrics";
  const drafts = needIds(
    op,
    "drafts",
    counts.drafts,
    (counts.drafts as TokenIds | undefined)?.length ?? 0,
    "one per request",
  );
  const accepts = needIds(op, "accepts", counts.accepts, drafts.length, "one per request");
  const verifies = needIds(op, "verifies", counts.verifies, drafts.length, "one per request");
  if (drafts.length === 0) return {};
  const perRequest = (of: Int32Array, added: number) =>
    average(Array.from(accepts, (a, i) => (of[i]! > 0 ? added + a / of[i]! : 0)));
  return {
    "rollout/spec_accept_rate": perRequest(drafts, 0),
    "rollout/spec_accept_length": perRequest(verifies, 1),
  };
}
