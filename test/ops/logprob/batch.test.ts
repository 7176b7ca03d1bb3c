import { logprob, type LogprobResult } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

// Nine slices of 4096 ids and a bit: alone, such a row is shared by blocks; among 700, a block has it for itself.
const V = 36001;
const N = 700;

const bits = (result: LogprobResult, n: number): number[] =>
  Object.values(result).map((values: Float32Array) => values[n]!);

eachBackend(
  (backend) => {
    test.each(["float32", "bfloat16"] as const)(
      "%s: a row has the same bits alone, among others and wherever it lies",
      (dtype) => {
        const random = rng(3);
        const numbers = random.normal(V);
        // The upper half of a float32 is a bfloat16.
        const row = dtype === "float32" ? numbers : new Uint16Array(numbers.buffer).filter((_, i) => i % 2 === 1);
        const alone = logprob(row, [17], { shape: [1, V], dtype, backend });

        // Rows of an odd length: each lies otherwise against the 16 bytes of a load. Those that are not kept are not read.
        const stride = V + 2;
        const many =
          dtype === "float32" ? new Float32Array(N * stride).fill(NaN) : new Uint16Array(N * stride).fill(0x7fff);
        const mask = new Uint8Array(N);
        for (const n of [0, 1, 2, 3, 299, N - 1]) {
          many.set(row, n * stride);
          mask[n] = 1;
        }
        const among = logprob(many, new Int32Array(N).fill(17), { shape: [N, V], stride, mask, dtype, backend });
        mask.forEach((kept, n) => {
          if (kept) expect(bits(among, n)).toEqual(bits(alone, 0));
        });
      },
    );
  },
  ["cuda", "emulated"],
);
