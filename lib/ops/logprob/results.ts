// The arrays that a forward pass fills.
import { outputOr } from "../../core/arrays";
import type { Stream } from "../../core/stream";

/** Per row [rows], but for `logProbs`. All float32. */
export interface LogprobResult {
  /** ln p(target) in nats, one a target: [rows, K]. Empty without targets. */
  readonly logProbs: Float32Array;
  /** −Σ p ln p in nats. */
  readonly entropies: Float32Array;
  /** ln Σ exp z, rounded: good to print. A log-prob rebuilt from it loses digits. */
  readonly logSumExps: Float32Array;
  /** The largest raw logit. */
  readonly maxLogits: Float32Array;
  /** logSumExp − M, M being the largest z; of nearly deterministic rows exact to the last bit. */
  readonly log1pSums: Float32Array;
  /** M − Σ p z; entropy = log1pSum + meanGap. */
  readonly meanGaps: Float32Array;
  /** Σ p², the probability that two samples agree. */
  readonly sumSquares: Float32Array;
}

/** What the backward pass needs of a forward result. */
export type LogprobState = Pick<LogprobResult, "maxLogits" | "log1pSums" | "meanGaps">;

/** Memory for a result: the caller's arrays where given, new ones else. */
export function needResult(
  op: string,
  out: Partial<LogprobResult> | undefined,
  N: number,
  K: number,
  stream: Stream | null,
): LogprobResult {
  const array = (name: keyof LogprobResult, length: number): Float32Array =>
    outputOr(op, name, out?.[name], "float32", length, stream) as Float32Array;
  return {
    logProbs: array("logProbs", N * K),
    entropies: array("entropies", N),
    logSumExps: array("logSumExps", N),
    maxLogits: array("maxLogits", N),
    log1pSums: array("log1pSums", N),
    meanGaps: array("meanGaps", N),
    sumSquares: array("sumSquares", N),
  };
}
