// A row that hangs on one competitor far below the maximum: a small part of the rate, by which powers of two are taken, is then a
// large part of the result.
import { backendInfo, logprob } from "../../../lib";
import { rowOracle } from "../../oracle/logprob";
import { eachBackend } from "../../support/each-backend";
import { batchOf } from "./rows";

const LEVEL = backendInfo().backends.find(({ name }) => name === "cpu")?.device;

eachBackend((backend) => {
  // At the last two float32 rounds log2(e) / temperature by 5e-8 of itself.
  test.each([0.7, 1.38, 2.79])("its log-prob and entropy keep 7e-7 of themselves, at temperature %d", (temperature) => {
    const gaps = Array.from({ length: 221 }, (_, i) => (12 + i / 20) * temperature);
    const batch = batchOf(
      gaps.map((gap) => Float64Array.of(-gap, 0)), // a difference that float32 holds
      "float32",
    );
    const got = logprob(batch.logits, new Int32Array(batch.N).fill(1), { shape: [batch.N, 2], temperature, backend });
    const wanted = batch.rows.map((row) => rowOracle(row, { temperature }));
    // The header's promise.
    const unfused = backend === "wasm" || (backend === "cpu" && LEVEL === "baseline");
    const promise = { rtol: unfused ? 2e-6 : 7e-7 };
    expect(got.logProbs).toBeAllClose(
      wanted.map((row) => row.logprob(1)),
      promise,
    );
    expect(got.entropies).toBeAllClose(
      wanted.map((row) => row.entropy),
      promise,
    );
  });
});
