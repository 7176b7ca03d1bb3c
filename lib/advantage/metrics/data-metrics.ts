// The metrics of a padded training batch: those of criticMetrics and lengthMetrics.
import type { BackendOption } from "../../backend/select";
import { optionalMask } from "../../core/arrays";
import { dtypeError, SurprisalError } from "../../core/errors";
import { needRows } from "../../core/row-layout";
import { type CriticBatch, criticMetrics } from "./critic-metrics";
import { lengthMetrics } from "./length-metrics";
import type { MetricRecord } from "./metric-record";

export interface DataMetricsOptions extends BackendOption {
  /** Of the responses: [rows, T]. */
  readonly shape: readonly [rows: number, tokens: number];
  /** [rows, T], 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** [rows, P + T], prompt columns before response columns, 1 = a token and not padding. Gives the lengths. */
  readonly attentionMask: Uint8Array;
}

/**
 * Metrics of a padded batch for a dashboard: those of `criticMetrics`, and of `lengthMetrics` with the lengths counted in
 * `attentionMask`, so that tokens of a response that are not the policy's (a tool's output) count as length.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function dataMetrics(batch: CriticBatch, options: DataMetricsOptions): MetricRecord {
  const op = "dataMetrics";
  const { B, T } = needRows(op, { shape: options.shape });
  const attention = optionalMask(
    op,
    "attentionMask",
    options.attentionMask,
    ArrayBuffer.isView(options.attentionMask) ? options.attentionMask.length : 0,
    "rows * (prompt + response)",
  );
  if (!attention) throw dtypeError(op, "attentionMask", options.attentionMask, "a Uint8Array of 0 and 1");
  const width = B > 0 ? attention.length / B : T;
  if (!Number.isInteger(width) || width < T || attention.length !== B * width)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: attentionMask has ${attention.length} elements, expected ${B} rows of ${T} or more`,
      {
        op,
        name: "attentionMask",
        got: attention.length,
        want: `${B} rows of ${T} or more`,
      },
    );
  const count = (b: number, from: number, to: number): number =>
    attention.subarray(b * width + from, b * width + to).reduce((sum, flag) => sum + (flag !== 0 ? 1 : 0), 0);
  const promptLengths = Int32Array.from({ length: B }, (_, b) => count(b, 0, width - T));
  const responseLengths = Int32Array.from({ length: B }, (_, b) => count(b, width - T, width));
  const { shape, mask, backend } = options;
  return {
    ...criticMetrics(batch, { shape, responseLengths, mask, backend }),
    ...lengthMetrics({ responseLengths, maxResponseLength: T, promptLengths, maxPromptLength: width - T }),
  };
}
