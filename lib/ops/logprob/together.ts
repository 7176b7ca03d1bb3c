// A vocabulary that lies on the workers of a collective: every one has some columns of every row of logits, and gets the
// result of all columns.
import { type LogprobPartialArgs, STATE_SUMS } from "../../backend/contract/logprob";
import { cutRows } from "../../backend/cut-rows";
import { selectBackend } from "../../backend/select";
import { refuseOverlap, type TokenIds } from "../../core/arrays";
import type { Collective } from "../../core/collective";
import { needsHostArrays } from "../../core/device-ops";
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { concatenated, gatherIntegers, gatherRagged, needAgreement } from "../../core/row-partials";
import { type Logits, needLogits } from "./logits";
import { type LogprobResult, needResult } from "./results";
import { type LogitRowsOptions, needLogitRows } from "./logit-rows";
import { mergeJoined } from "./shards";

needsHostArrays("logprobTogether", "its workers exchange their states in host memory");

export interface LogprobTogetherOptions extends LogitRowsOptions {
  /** The workers that hold the vocabulary: rank 0 its first columns, and so on. */
  readonly collective: Collective;
  /**
   * Columns that are added up before anything else is: with every cut between workers at a multiple of this, any number of
   * workers gives the bits of one. Infinity: all columns of a worker, for cuts anywhere and equal to rounding. Default 4096.
   */
  readonly block?: number;
  /** Reuse memory for any of the results. Must not overlap the inputs. */
  readonly out?: Partial<LogprobResult>;
}

export interface LogprobTogetherResult extends LogprobResult {
  /** Id of the first column here: for `logprobBackward`. */
  readonly vocabStart: number;
  /** Columns of all workers: for `logprobBackward`. */
  readonly vocabSize: number;
}

function needBlock(op: string, given: number | undefined): number {
  if (given === Infinity) return Infinity;
  return needNumber(op, "block", given ?? 4096, { min: 1, max: 2 ** 31 - 1, integer: true });
}

/** Where this worker's columns begin, and how many there are. Cuts are checked on all ranks alike. */
function placeOf(
  op: string,
  collective: Collective,
  columns: number,
  block: number,
): { vocabStart: number; vocabSize: number } {
  needAgreement(op, "block", collective, block === Infinity ? 0 : block);
  const widths = gatherIntegers(collective, columns);
  const starts = widths.map((_, rank) => widths.slice(0, rank).reduce((sum, width) => sum + width, 0));
  const vocabSize = widths.reduce((sum, width) => sum + width, 0);
  const cut = block === Infinity ? -1 : starts.findIndex((start) => start % block !== 0 && start < vocabSize);
  if (cut >= 0)
    throw optionError(
      op,
      `the first column of rank ${cut}`,
      starts[cut],
      `a multiple of block (${block})`,
      "another block, the same on all ranks, or Infinity",
    );
  return { vocabStart: starts[collective.rank]!, vocabSize };
}

/** States of columns begin … end − 1 of every row. */
function statesOf(
  ops: { logprobPartial(args: LogprobPartialArgs): void },
  rows: LogprobPartialArgs,
  begin: number,
  end: number,
): void {
  const { N, stride } = rows;
  const place = { ...rows, V: end - begin, vocabStart: rows.vocabStart + begin };
  const part = (first: number, last: number) => cutRows("logprobPartial", place, first, last);
  // From column `begin` on, N strides would reach past the array: the last row is a call of its own.
  const last = (N - 1) * stride;
  if (N > 1) ops.logprobPartial({ ...part(0, N - 1), logits: rows.logits.subarray(begin, begin + last) });
  ops.logprobPartial({
    ...part(N - 1, N),
    stride: end - begin,
    logits: rows.logits.subarray(last + begin, last + end),
  });
}

/**
 * `logprob` where each worker holds a range of the vocabulary's columns. Every rank makes the call with the same rows,
 * targets and options, and gets the result of the whole vocabulary; only sums travel.
 *
 * For the gradient of the columns here give the result to `logprobBackward`, with its `vocabStart` and `vocabSize`.
 *
 * @param logits the columns here, [rows, columns]; `shape` is that of the shard
 * @param targets ids of the whole vocabulary, [rows, K]; null for none
 * @throws SurprisalError as `logprob`; ERR_SURPRISAL_OPTION when a shard does not begin at a multiple of `block`
 */
export function logprobTogether(
  logits: Logits,
  targets: TokenIds | null | undefined,
  options: LogprobTogetherOptions,
): LogprobTogetherResult {
  const op = "logprobTogether";
  const { collective } = options;
  const block = needBlock(op, options.block);
  const place = placeOf(op, collective, needLogits(op, logits, options).V, block);
  const rows = needLogitRows(op, logits, targets, options, place);
  const { N, K, V } = rows;
  needAgreement(op, "the number of rows", collective, N);
  needAgreement(op, "targets a row", collective, K);
  const result = needResult(op, options.out, N, K, null);
  refuseOverlap(op, options.out, { ...result }, { logits: rows.logits, targets: rows.targets, mask: rows.mask });

  const { ops } = selectBackend(op, options.backend);
  const size = N * (STATE_SUMS + K);
  const count = N === 0 ? 0 : Math.ceil(V / Math.min(block, Math.max(V, 1)));
  const states = new Float64Array(count * size);
  for (let p = 0; p < count; ++p) {
    const begin = count === 1 ? 0 : p * block;
    statesOf(
      ops,
      { ...rows, states: states.subarray(p * size, (p + 1) * size) },
      begin,
      Math.min(V, begin + Math.min(block, V)),
    );
  }
  const all = concatenated(gatherRagged(collective, states));
  const { temperature, scale, softcap } = rows;
  mergeJoined(
    op,
    { temperature, scale, softcap, ...result, states: all, P: size === 0 ? 1 : all.length / size, N, K },
    options,
  );
  return { ...result, ...place };
}
