// Log-probs over kept ids, and their gradient (contract: native/include/surprisal/logprob.h).
import { halfEncoder, halfTable } from "../../core/half";
import type { LogprobBackwardArgs, LogprobKeptBackwardArgs, LogprobKeptForwardArgs } from "../contract/logprob";
import { finishRow, halfTypeOf, IGNORED, LogitMap, mergeSums, slopeOf, targetLogprob, withoutSums } from "./logit-sums";

type KeptArgs = LogprobKeptForwardArgs | LogprobKeptBackwardArgs;

/** Calls `visit` with the kept ids of row n, its target last, and their places in a list of K + N. */
function eachKept(a: KeptArgs, n: number, visit: (id: number, place: number) => void): void {
  const target = a.targets[n]!;
  const end = a.offsets[n + 1]!;
  for (let k = a.offsets[n]!; k < end; ++k) if (a.ids[k] !== target) visit(a.ids[k]!, n + k);
  visit(target, n + end);
}

/** The logit of an id in row n. */
function readerOf({ dtype, logits, stride }: KeptArgs): (n: number, id: number) => number {
  const half = halfTypeOf(dtype);
  const table = half && halfTable(half);
  return (n, id) => (table ? table[logits[n * stride + id]!]! : logits[n * stride + id]!);
}

export function logprobKeptForward(a: LogprobKeptForwardArgs): void {
  const map = new LogitMap(a);
  const read = readerOf(a);
  for (let n = 0; n < a.N; ++n) {
    let row = IGNORED;
    let logProb = 0;
    if (a.mask?.[n] !== 0) {
      let sums = withoutSums(-Infinity);
      eachKept(a, n, (id) => {
        sums = mergeSums(map, sums, { maxLogit: read(n, id), rest: 0, weighted: 0, squares: 0 });
      });
      row = finishRow(map, sums);
      logProb = targetLogprob(map, row, read(n, a.targets[n]!));
    }
    if (a.logProbs) a.logProbs[n] = logProb;
    if (a.maxLogits) a.maxLogits[n] = row.maxLogit;
    if (a.log1pSums) a.log1pSums[n] = row.log1pSum;
  }
}

/** `whole` computes the gradient of the entropies; it may overwrite the logits, which are read before. */
export function logprobKeptBackward(a: LogprobKeptBackwardArgs, whole: (a: LogprobBackwardArgs) => void): void {
  const map = new LogitMap(a);
  const read = readerOf(a);
  const half = halfTypeOf(a.dtype);
  const encode = half === undefined ? (x: number) => x : halfEncoder(half);
  const { keptMaxLogits, keptLog1pSums, maxLogits, log1pSums, meanGaps, gradLogProbs, gradEntropies, gradLogits } = a;
  const slopes = new Float64Array(a.K + a.N);
  const eachRow = (visit: (n: number, id: number, place: number) => void): void => {
    for (let n = 0; n < a.N; ++n)
      if (a.mask?.[n] !== 0)
        eachKept(a, n, (id, place) => {
          visit(n, id, place);
        });
  };
  eachRow((n, id, place) => {
    const x = read(n, id);
    const isTarget = id === a.targets[n];
    // Of a target alone −0, which the sum makes 0.
    slopes[place]! += slopeOf(map, x, isTarget, keptMaxLogits[n]!, keptLog1pSums[n]!, gradLogProbs[n]!, 0, 0);
    if (gradEntropies)
      slopes[place]! += slopeOf(map, x, false, maxLogits![n]!, log1pSums![n]!, 0, gradEntropies[n]!, meanGaps![n]!);
  });
  if (gradEntropies)
    whole({
      ...a,
      targets: null,
      K: 0,
      maxLogits: maxLogits!,
      log1pSums: log1pSums!,
      gradLogProbs: null,
      vocabStart: 0,
      vocabSize: a.V,
    });
  else gradLogits.fill(0);
  eachRow((n, id, place) => (gradLogits[n * a.stride + id] = encode(slopes[place]!)));
}
