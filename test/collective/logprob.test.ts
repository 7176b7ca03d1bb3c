// A vocabulary on one, two or three workers: forward and backward have the bits of one.
import * as surprisal from "../../lib";
import { openCollective } from "../../lib/collective";
import { eachBackend } from "../support/each-backend";
import { errorCode as code } from "../support/error-code";
import { valuesOfRanks } from "../support/run-ranks";
import { forwardAndBackward, N, shardsOf, V, type Shard } from "./vocabulary";

eachBackend((backend) => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    const alone = forwardAndBackward(openCollective("single"), surprisal, shardsOf(7, dtype, backend, [0, V])[0]!);

    test.each([[[0, 70]], [[0, 32, 70]], [[0, 8, 64, 70]], [[0, 40, 40, 70]], [[0, 64, 70, 70]]])(
      `${dtype} columns cut at %j`,
      async (cuts) => {
        const got = await valuesOfRanks(shardsOf(7, dtype, backend, cuts), forwardAndBackward, { chunkBytes: 512 });
        got.forEach(({ result, vocabStart, vocabSize }, rank) => {
          expect(result).toEqual(alone.result);
          expect([vocabStart, vocabSize]).toEqual([cuts[rank], V]);
        });
        expect(alone.rows.map((_, n) => got.flatMap(({ rows }) => rows[n]!))).toEqual(alone.rows);
      },
    );

    test(`${dtype} together is logprob to rounding`, () => {
      const [p] = shardsOf(7, dtype, backend, [0, V]) as [Shard];
      const { result } = alone;
      const plain = surprisal.logprob(p.logits, p.targets, {
        shape: [N, V],
        stride: p.stride,
        dtype,
        temperature: 0.8,
        ignoreIndex: -100,
        backend,
      });
      for (const name of ["logProbs", "entropies", "logSumExps", "sumSquares"] as const)
        expect(result[name]).toBeAllClose(plain[name], { atol: 1e-6, rtol: 1e-6 });
      expect(result.maxLogits).toEqual(plain.maxLogits);
    });
  }
});

test("without a block the cuts are free, and the result is equal to rounding", async () => {
  const [alone] = await valuesOfRanks(shardsOf(9, "float32", "js", [0, V], Infinity), forwardAndBackward);
  const got = await valuesOfRanks(shardsOf(9, "float32", "js", [0, 13, 41, V], Infinity), forwardAndBackward);
  for (const { result } of got) {
    expect(result.logProbs).toBeAllClose(alone!.result.logProbs, { atol: 1e-6, rtol: 1e-6 });
    expect(result.entropies).toBeAllClose(alone!.result.entropies, { atol: 1e-6, rtol: 1e-6 });
  }
});

test("a cut within a block is refused on all ranks, and says where", async () => {
  const got = await valuesOfRanks(shardsOf(9, "float32", "js", [0, 32, 41, V]), (c, s, p) => {
    try {
      s.logprobTogether(p.logits, p.targets, {
        shape: [5, p.columns],
        stride: p.stride,
        collective: c,
        block: p.block,
      });
    } catch (error) {
      return (error as Error).message;
    }
    return "nothing";
  });
  const message =
    "logprobTogether: the first column of rank 2 is 41, expected a multiple of block (8); another block, the same on all ranks, or Infinity";
  expect(got).toEqual([message, message, message]);
});

test("wrong options are refused by name, and no rows are no rows", () => {
  const collective = openCollective("single");
  const call = (options: object) => () =>
    surprisal.logprobTogether(new Float32Array(6), [0, 1], { shape: [2, 3], collective, backend: "js", ...options });
  expect(code(call({ block: 0 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(call({ block: 1.5 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(call({ shape: [2, 4] }))).toBe("ERR_SURPRISAL_SHAPE");
  expect(call({ block: 1 })().logProbs).toHaveLength(2);
  const none = surprisal.logprobTogether(new Float32Array(0), null, { shape: [0, 3], collective, backend: "js" });
  expect(none.entropies).toHaveLength(0);
});
