// The gradient of a token loss for the logits that its log-probs come from: one call of a backend, which keeps a row near
// between its sums and its gradient.
import type { LossLogitsArgs } from "../../backend/contract/loss";
import { runByRows } from "../../backend/run-by-rows";
import { type BackendOption, selectBackend } from "../../backend/select";
import { needIds, refuseOverlap, type TokenIds } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { shapeError } from "../../core/errors";
import { rowBegin, rowEnd, type Rows } from "../../core/row-layout";
import { needSize } from "../../core/tensor";
import type { AsyncOption } from "../../backend/run-async";
import {
  type CheckedLogits,
  type LogitLayout,
  type Logits,
  type LogitView,
  type LogitViewOf,
  needGradient,
  needLogits,
} from "../logprob/logits";
import { type LogprobResult, needResult } from "../logprob/results";
import { checkTargets, type LogitMapOptions, needLogitMap } from "../logprob/logit-rows";
import { boundArrays } from "./bounds";
import type { LossForm, LossInputs } from "./loss-inputs";
import type { LossBand } from "./parameters";
import type { TokenForm } from "./token-loss";
import type { LossInputOptions } from "./types";

/** How the logits of tokens lie in memory, and what becomes of them. */
export interface TokenLogitsOptions extends LogitMapOptions, Pick<LogitLayout, "dtype" | "stride"> {
  /** Ids of the vocabulary, the columns that count. Default: the tensor's last dimension, else the logits divided by the tokens. */
  readonly vocab?: number;
  /** Memory for the gradient, of the logits' kind; may be the logits themselves, which are overwritten then. */
  readonly out?: LogitView;
}

/** The log-probs with what stands beside them, one a token, and the gradient. */
export interface TokenLogitsResult<L extends Logits = Logits> extends LogprobResult {
  /** d loss / d logits, of the logits' kind and length: `out` if given. */
  readonly gradLogits: LogitViewOf<L>;
}

/** A token loss without the log-probs that it will read. */
export type LogitLossOptions = LossInputOptions &
  LossBand &
  TokenForm & { readonly oldLogProbs?: FloatArray } & TokenLogitsOptions;

/** A checked token loss whose log-probs are yet to come, and what entropies add to it. */
export interface TokenTerms {
  readonly form: LossForm;
  readonly inputs: LossInputs;
  /** d loss / d entropy, one a token; null where entropies are no part of the loss. */
  readonly entropyWeights: Float64Array | null;
}

/** Logits of n tokens. */
export function needTokenLogits(
  op: string,
  logits: unknown,
  n: number,
  { vocab, stride, dtype }: TokenLogitsOptions,
): CheckedLogits {
  const layout = { stride, dtype };
  if (vocab !== undefined)
    return needLogits(op, logits, { ...layout, shape: [n, needSize(op, "vocab", vocab, 2 ** 31 - 1)] });
  if (ArrayBuffer.isView(logits)) {
    const { length } = logits as LogitView;
    const columns = n > 0 ? length / n : 0;
    if (Number.isInteger(columns)) return needLogits(op, logits, { ...layout, shape: [n, columns] });
    throw shapeError(op, "logits.length", length, `a whole number of ids for each of ${n} tokens`);
  }
  const checked = needLogits(op, logits, layout);
  if (checked.N === n) return checked;
  throw shapeError(op, "logits.shape", checked.N, `${n} rows, one a token`);
}

/** One number a token, in float64. */
function perToken(rows: Rows, values: FloatArray, each: boolean): Float64Array {
  if (each) return Float64Array.from(values);
  const spread = new Float64Array(rows.n);
  for (let b = 0; b < rows.B; ++b) spread.fill(values[b]!, rowBegin(rows, b), rowEnd(rows, b));
  return spread;
}

function prepare(op: string, logits: Logits, targets: TokenIds, loss: TokenTerms, options: TokenLogitsOptions) {
  const { form, inputs, entropyWeights } = loss;
  const { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl, bounds } = inputs;
  const { clipLow, clipHigh, ratioCap } = bounds ?? {};
  const { n, meaning } = rows;
  const checked = needTokenLogits(op, logits, n, options);
  const map = needLogitMap(op, options);
  const ids = needIds(op, "targets", targets, n, meaning);
  checkTargets(op, { targets: ids, mask, N: n, K: 1 }, checked.V, "mask leaves tokens out");
  const result = needResult(op, undefined, n, 1, null);
  const { view, grad } = needGradient(op, checked, options.out, null);
  const inPlace = grad.buffer === checked.logits.buffer && grad.byteOffset === checked.logits.byteOffset;
  const arrays = {
    targets: ids,
    mask,
    termMask,
    marks,
    oldLogProbs: old,
    advantages: advantage.array,
    factors: factor?.array,
    rowWeights,
  };
  const others = { "kl.referenceLogProbs": kl.reference, "kl.rowWeights": kl.weights, offsets: rows.offsets };
  refuseOverlap(
    op,
    options.out,
    { gradLogits: grad },
    { logits: inPlace ? undefined : checked.logits, ...arrays, ...boundArrays(bounds), ...others },
  );
  const args: LossLogitsArgs = {
    form: form.form,
    parameters: form.parameters,
    kl: kl.parameters,
    ...map,
    ...result,
    dtype: checked.dtype,
    logits: checked.logits,
    targets: ids,
    mask,
    oldLogProbs: old && perToken(rows, old, true),
    advantages: perToken(rows, advantage.array, advantage.perToken),
    factors: factor && perToken(rows, factor.array, factor.perToken),
    clipLows: clipLow ? perToken(rows, clipLow.array, clipLow.perToken) : null,
    clipHighs: clipHigh ? perToken(rows, clipHigh.array, clipHigh.perToken) : null,
    ratioCaps: ratioCap ? perToken(rows, ratioCap.array, ratioCap.perToken) : null,
    referenceLogProbs: kl.reference && perToken(rows, kl.reference, true),
    weights: rowWeights && perToken(rows, rowWeights, false),
    klWeights: kl.weights && perToken(rows, kl.weights, false),
    entropyWeights,
    termMask,
    marks,
    N: n,
    V: checked.V,
    stride: checked.stride,
    gradLogits: grad,
  };
  return { args, result, view };
}

/**
 * Log-probs, entropies and the gradient of the logits for a checked loss, in the name of the public function `op`. What the tokens
 * cost is left to a token loss on the log-probs.
 */
export function differentiateLogits<L extends Logits>(
  op: string,
  logits: L,
  targets: TokenIds,
  loss: TokenTerms,
  options: TokenLogitsOptions & BackendOption,
): TokenLogitsResult<L> {
  const { args, result, view } = prepare(op, logits, targets, loss, options);
  selectBackend(op, options.backend).ops.lossLogits(args);
  return { ...result, gradLogits: view as LogitViewOf<L> };
}

/** `differentiateLogits` off the event loop, a block of tokens at a time. */
export async function differentiateLogitsAsync<L extends Logits>(
  op: string,
  logits: L,
  targets: TokenIds,
  loss: TokenTerms,
  options: TokenLogitsOptions & AsyncOption & BackendOption,
): Promise<TokenLogitsResult<L>> {
  const { args, result, view } = prepare(op, logits, targets, loss, options);
  const { logits: x, gradLogits: grad, targets: ids, mask, termMask, marks } = args;
  const arrays = { logits: x, targets: ids, mask, termMask, marks, ...result, out: grad };
  await runByRows(op, "lossLogits", args, arrays, options);
  return { ...result, gradLogits: view as LogitViewOf<L> };
}
