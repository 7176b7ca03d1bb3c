// Rows that begin far below their maximum, with a competitor close to it. Sums that were still taken against the begin would leave the
// two's distance, which the gradient of the entropy hangs on, few digits.
import { logprob, logprobBackward } from "../../../lib";
import { rowOracle } from "../../oracle/logprob";
import { eachBackend } from "../../support/each-backend";
import { batchOf } from "./rows";

const V = 1040; // more than a block of any level
const temperature = 1.393;

/** A logit near 0, nothing for long, then the maximum `rise` nats above it with a competitor `gap` nats below. */
function rising(rise: number, gap: number): Float64Array {
  const row = new Float64Array(V).fill(-Infinity);
  row[0] = 0.0824;
  row[V - 1] = 0.0824 + rise * temperature;
  row[V - 3] = row[V - 1]! - gap * temperature;
  return row;
}

const ROWS = Array.from({ length: 120 }, (_, i) => rising(1 + (i % 40) * 0.321, [0.0031, 0.021, 0.7][i % 3]!));

eachBackend((backend) => {
  test("a row that rises late keeps the digits of the distance between its largest two", () => {
    const batch = batchOf(ROWS, "float32");
    const options = { shape: [batch.N, V] as const, temperature, backend };
    const state = logprob(batch.logits, null, options);
    const gradEntropies = new Float32Array(batch.N).fill(1);
    const got = logprobBackward(batch.logits, null, state, { ...options, gradEntropies });
    batch.rows.forEach((row, n) => {
      const wanted = rowOracle(row, { temperature }).gradient([], 1);
      const largest = wanted.reduce((top, x) => Math.max(top, Math.abs(x)), 0);
      // The header's promise.
      expect(got.subarray(n * V, n * V + V)).toBeAllClose(wanted, { atol: 2e-6 * largest, rtol: 2 ** -24 });
    });
  });
});
