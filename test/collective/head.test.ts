// A linear head on one, two or three workers is that of one worker: within 1e-12 in float64.
import * as surprisal from "../../lib";
import { openCollective } from "../../lib/collective";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { valuesOfRanks } from "../support/run-ranks";
import { headForwardAndBackward, headShards, IDS, joinedHead } from "./head";

const CUTS = [
  [0, 70],
  [0, 33, 70],
  [0, 6, 6, 70],
  [0, 0, 21, 70, 70],
] as const;
const MAPS = [{}, { temperature: 0.7, scale: 1.3, softcap: 20 }] as const;
const PER_ROW = ["logProbs", "entropies", "logSumExps", "sumSquares", "maxLogits", "log1pSums", "meanGaps"] as const;
const STATE = ["maxLogits", "log1pSums", "meanGaps"] as const;

eachBackend((backend) => {
  test.each(CUTS.flatMap((cuts) => MAPS.map((map) => [cuts, map] as const)))("ids cut at %j, %j", async (cuts, map) => {
    const [whole] = headShards(3, "float64", backend, [0, IDS], map);
    const alone = headForwardAndBackward(undefined, surprisal, whole!);
    const shards = headShards(3, "float64", backend, cuts, map);
    const got = await valuesOfRanks(shards, headForwardAndBackward);
    const near = { rtol: 1e-12, atol: 0 };
    const sums = { rtol: 1e-12, atol: 1e-12 }; // of the sizes of their terms, which are about 1
    got.forEach(({ result, gradients, vocabStart, vocabSize }, rank) => {
      expect([vocabStart, vocabSize]).toEqual([cuts[rank], IDS]);
      for (const name of PER_ROW) expect(result[name]).toBeAllClose(alone.result[name], near);
      expect(gradients.gradHidden).toBeAllClose(alone.gradients.gradHidden, sums);
      expect(gradients.gradHidden).toEqual(got[0]!.gradients.gradHidden);
    });
    const all = joinedHead(got, shards);
    const one = joinedHead([alone], [whole!]);
    expect(all.gradWeight).toBeAllClose(one.gradWeight, sums);
    expect(all.gradBias).toBeAllClose(one.gradBias, sums);
    // Left out is left out: exactly 0, and not read.
    for (const { result, gradients } of got)
      for (const row of [3, 4]) {
        expect(PER_ROW.map((name) => result[name][row])).toEqual(PER_ROW.map(() => 0));
        const hidden = gradients.gradHidden as Float64Array;
        expect(Array.from(hidden.subarray(row * 9, row * 9 + 9))).toEqual(Array(9).fill(0));
      }
  });

  test.each(["float32", "bfloat16"] as const)("%s: to the rounding of the type", async (dtype) => {
    const [whole] = headShards(4, dtype, backend, [0, IDS]);
    const alone = headForwardAndBackward(undefined, surprisal, whole!);
    const shards = headShards(4, dtype, backend, [0, 33, IDS]);
    const got = await valuesOfRanks(shards, headForwardAndBackward);
    const near = { rtol: 2e-6, atol: 1e-7 };
    for (const { result } of got)
      for (const name of PER_ROW) expect(result[name]).toBeAllClose(alone.result[name], near);
    // Where the arithmetic from the logits on is float64, so is what the shards make of it.
    if (backend !== "emulated")
      for (const { result } of got)
        for (const name of STATE) expect(result[name]).toBeAllClose(alone.result[name], { rtol: 1e-12, atol: 0 });
    const numbers = (view: ArrayBufferView): ArrayLike<number> =>
      dtype === "bfloat16" ? surprisal.fromHalfBits(view as Uint16Array, dtype) : (view as Float32Array);
    const step = dtype === "bfloat16" ? 2 ** -6 : 1e-5;
    expect(numbers(got[1]!.gradients.gradHidden!)).toBeAllClose(numbers(alone.gradients.gradHidden!), {
      rtol: step,
      atol: step,
    });
    const all = joinedHead(got, shards);
    expect(all.gradWeight).toBeAllClose(joinedHead([alone], [whole!]).gradWeight, { rtol: 1e-5, atol: 1e-5 });
  });

  test("rows with NaN, or without a finite logit in any shard, are those of one worker", async () => {
    const change = (bias: Float64Array, value: number) => bias.fill(value, 0, -1);
    for (const [first, second] of [
      [NaN, 0],
      [-Infinity, -Infinity],
      [0, Infinity],
      [-Infinity, 0],
    ] as const) {
      const [whole] = headShards(5, "float64", backend, [0, IDS]);
      change(whole!.bias as Float64Array, second);
      change((whole!.bias as Float64Array).subarray(0, 34), first);
      const shards = headShards(5, "float64", backend, [0, 33, IDS]);
      shards.forEach(({ bias }, r) => change(bias as Float64Array, r === 0 ? first : second));
      const alone = headForwardAndBackward(undefined, surprisal, whole!);
      for (const { result } of await valuesOfRanks(shards, headForwardAndBackward))
        for (const name of PER_ROW)
          expect(Array.from(result[name], (x) => (Number.isFinite(x) ? "finite" : String(x)))).toEqual(
            Array.from(alone.result[name], (x) => (Number.isFinite(x) ? "finite" : String(x))),
          );
    }
  });
});

test("a shard of one's own: places that the vocabulary does not have are refused", () => {
  const collective = openCollective("single");
  const [p] = headShards(3, "float64", "js", [0, IDS]);
  const { hidden, weight, targets, bias } = p!;
  const options = { shape: [6, 9] as const, bias, vocab: IDS, ignoreIndex: -100, collective, backend: "js" } as const;
  const past = Int32Array.from(targets).fill(IDS, 0, 1);
  expect(errorCode(() => surprisal.linearLogprobTogether(hidden, weight, past, options))).toBe("ERR_SURPRISAL_RANGE");
  const state = surprisal.linearLogprobTogether(hidden, weight, targets, options);
  const gradLogProbs = p!.gradLogProbs;
  expect(
    errorCode(() =>
      surprisal.linearLogprobBackwardTogether(
        hidden,
        weight,
        targets,
        { ...state, vocabStart: 1 },
        { ...options, gradLogProbs },
      ),
    ),
  ).toBe("ERR_SURPRISAL_OPTION");
});

test("rows that differ between ranks are refused on all of them", async () => {
  const shards = headShards(3, "float64", "js", [0, 33, IDS]);
  const got = await valuesOfRanks(shards, (c, s, p) => {
    const rows = c.rank === 0 ? 6 : 5;
    try {
      s.linearLogprobTogether(p.hidden.subarray(0, rows * 9) as Float64Array, p.weight, null, {
        shape: [rows, 9],
        bias: p.bias,
        vocab: p.ids,
        collective: c,
      });
    } catch (error) {
      return (error as Error).message;
    }
    return "nothing";
  });
  const message =
    "linearLogprobTogether: the number of rows is 6 on rank 0, 5 on rank 1, expected the same on all ranks";
  expect(got).toEqual([message, message]);
});
