// Rows that begin 2^31 logits and more behind the first: a batch of 16,384 rows of a real vocabulary has such ones.
import { totalmem } from "node:os";
import { deviceEmpty, logprob, logprobPartial, toDevice, trimMemory } from "../../../lib";
import { toHalfBits } from "../../../lib/core/half";
import { eachDeviceBackend } from "../../support/each-device";
import { rng } from "../../support/rng";

const [N, V, STRIDE] = [9, 40, 2 ** 28];
const ENOUGH = 8 * 2 ** 30; // the array has 4.5 GiB, of which the emulated device takes a few pages

eachDeviceBackend((backend) => {
  const large = totalmem() > ENOUGH;
  (large ? test : test.skip)(
    `a row has the bits that it has in a small array${large ? "" : " (skipped: needs 8 GiB)"}`,
    () => {
      const rows = toHalfBits(rng(6).normal(N * V), "bfloat16");
      const apart = deviceEmpty("bfloat16", [N, STRIDE], { backend });
      for (let n = 0; n < N; ++n) {
        const row = apart.view(n * STRIDE, n * STRIDE + V);
        row.write(rows.subarray(n * V, n * V + V));
        row.dispose(); // a view keeps the whole array
      }
      const together = toDevice(rows, { backend, dtype: "bfloat16" });
      const targets = Int32Array.from({ length: N }, (_, n) => n);
      const shape = [N, V] as const;
      const wanted = logprob(together, targets, { shape });
      const got = logprob(apart, targets, { shape, stride: STRIDE });
      expect(got.logProbs.read()).toEqual(wanted.logProbs.read());
      expect(got.entropies.read()).toEqual(wanted.entropies.read());
      const shard = { shape, vocabStart: 0, vocabSize: V };
      expect(logprobPartial(apart, targets, { ...shard, stride: STRIDE }).read()).toEqual(
        logprobPartial(together, targets, shard).read(),
      );
      apart.dispose();
      trimMemory({ backend });
    },
  );
});
