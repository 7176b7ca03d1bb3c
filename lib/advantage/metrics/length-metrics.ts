// How long prompts and responses are, and how many ran into the limit.
import { needIds, type TokenIds } from "../../core/arrays";
import { rangeError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { average, largest, smallest } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";

export interface BatchLengths {
  /** Tokens of each response, 0 = it was aborted. */
  readonly responseLengths: TokenIds;
  /** The longest response allowed. */
  readonly maxResponseLength: number;
  /** Tokens of each prompt. */
  readonly promptLengths?: TokenIds;
  /** The longest prompt allowed; needed with promptLengths. */
  readonly maxPromptLength?: number;
}

function lengthStatistics(name: string, lengths: readonly number[], limit: number): MetricRecord {
  return {
    [`${name}/mean`]: average(lengths),
    [`${name}/max`]: largest(lengths),
    [`${name}/min`]: smallest(lengths),
    [`${name}/clip_ratio`]: average(lengths.map((length) => (length === limit ? 1 : 0))),
  };
}

function needLengths(op: string, name: string, lengths: unknown, count?: number): number[] {
  const checked = needIds(op, name, lengths, count, "one per row");
  const negative = checked.findIndex((length) => length < 0);
  if (negative >= 0) throw rangeError(op, `${name}[${negative}]`, checked[negative], "an integer >= 0");
  return Array.from(checked);
}

/**
 * Mean, max, min and the share at the limit (`clip_ratio`) as `response_length/…`, as `response_length_non_aborted/…` over
 * responses with a token, and as `prompt_length/…`; and `response/aborted_ratio`, the share of empty responses. Over no rows: 0.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function lengthMetrics(batch: BatchLengths): MetricRecord {
  const op = "lengthMetrics";
  const responses = needLengths(op, "responseLengths", batch.responseLengths);
  const limit = needNumber(op, "maxResponseLength", batch.maxResponseLength, { min: 0, integer: true });
  const metrics = {
    ...lengthStatistics("response_length", responses, limit),
    ...lengthStatistics(
      "response_length_non_aborted",
      responses.filter((length) => length > 0),
      limit,
    ),
    "response/aborted_ratio": average(responses.map((length) => (length === 0 ? 1 : 0))),
  };
  if (batch.promptLengths === undefined) return metrics;
  const promptLimit = needNumber(op, "maxPromptLength", batch.maxPromptLength, { min: 0, integer: true });
  return {
    ...metrics,
    ...lengthStatistics(
      "prompt_length",
      needLengths(op, "promptLengths", batch.promptLengths, responses.length),
      promptLimit,
    ),
  };
}
