// Spans as a batch has them, [S,3] of row, begin and finish, read as the lists of the rollouts.
import type { ReportSpan } from "./model";

/** What EMPG says about the spans of a batch, one number a span. */
export interface SpanWeights {
  readonly stepEntropies: ArrayLike<number>;
  readonly scales: ArrayLike<number>;
  readonly clarities: ArrayLike<number>;
}

/** The spans of each of `count` rollouts. `describe` adds what is known about span number `span`, which begins in `row`. */
export function spansOfRows(
  count: number,
  spans: Int32Array,
  describe: (span: number, row: number, begin: number) => Partial<ReportSpan>,
): ReportSpan[][] {
  const rows: ReportSpan[][] = Array.from({ length: count }, () => []);
  for (let span = 0; 3 * span < spans.length; ++span) {
    const [row, begin, finish] = spans.subarray(3 * span) as unknown as [number, number, number];
    rows[row]!.push({ begin, finish, ...describe(span, row, begin) });
  }
  return rows;
}

/** Entropy, scale and clarity of a span. */
export function weightsOfSpan(
  { stepEntropies, scales, clarities }: SpanWeights,
  span: number,
): Pick<Required<ReportSpan>, "entropy" | "scale" | "clarity"> {
  return { entropy: stepEntropies[span]!, scale: scales[span]!, clarity: clarities[span]! };
}
