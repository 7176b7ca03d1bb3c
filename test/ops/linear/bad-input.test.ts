import { linearLogprob, linearLogprobBackward } from "../../../lib";
import { selectBackend } from "../../../lib/backend/select";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";

const SENTINEL = 7;

eachBackend((backend) => {
  const hidden = Float32Array.of(1, 2, 3, 4, 5, 6);
  const weight = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2);
  const shape = [2, 3] as const;
  const ids = Int32Array.of(0, 3);

  /** Calls forward with memory of the test's own, which must stay as it was. */
  function forward(change: Record<string, unknown>): string | undefined {
    const { hidden: h = hidden, weight: w = weight, targets = ids, ...options } = change;
    const out = { entropies: new Float32Array(2).fill(SENTINEL), maxLogits: new Float64Array(2).fill(SENTINEL) };
    const code = errorCode(() =>
      linearLogprob(h as Float32Array, w as Float32Array, targets as Int32Array, { shape, backend, out, ...options }),
    );
    if (code !== undefined)
      expect([...out.entropies, ...out.maxLogits]).toEqual([SENTINEL, SENTINEL, SENTINEL, SENTINEL]);
    return code;
  }

  test("the call that the cases below change is a good one", () => {
    expect(forward({})).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["too few hidden states", { hidden: new Float32Array(5) }, "ERR_SURPRISAL_SHAPE"],
    ["too many hidden states", { hidden: new Float32Array(7) }, "ERR_SURPRISAL_SHAPE"],
    ["no shape", { shape: undefined }, "ERR_SURPRISAL_SHAPE"],
    ["a negative shape", { shape: [2, -3] }, "ERR_SURPRISAL_SHAPE"],
    ["a dimension of 0", { shape: [2, 0], hidden: new Float32Array(0) }, "ERR_SURPRISAL_SHAPE"],
    ["a shape beyond memory", { shape: [2 ** 40, 2 ** 30] }, "ERR_SURPRISAL_SHAPE"],
    ["a weight of no whole rows", { weight: new Float32Array(11) }, "ERR_SURPRISAL_SHAPE"],
    ["a weight of other rows", { weight: { data: weight, shape: [3, 4], dtype: "float32" } }, "ERR_SURPRISAL_SHAPE"],
    ["more ids than rows of weight", { vocab: 5 }, "ERR_SURPRISAL_SHAPE"],
    ["a fractional vocabulary", { vocab: 1.5 }, "ERR_SURPRISAL_SHAPE"],
    ["a bias of another length", { bias: new Float32Array(3) }, "ERR_SURPRISAL_SHAPE"],
    ["a bias of another type", { bias: new Float64Array(4) }, "ERR_SURPRISAL_DTYPE"],
    ["a weight of another type", { weight: new Float64Array(12) }, "ERR_SURPRISAL_DTYPE"],
    ["integers as hidden states", { hidden: new Int32Array(6) }, "ERR_SURPRISAL_DTYPE"],
    ["integers as weight", { weight: new Int32Array(weight.length) }, "ERR_SURPRISAL_DTYPE"],
    ["bits without their type", { hidden: new Uint16Array(6), weight: new Uint16Array(12) }, "ERR_SURPRISAL_DTYPE"],
    ["a type that the array does not hold", { dtype: "bfloat16" }, "ERR_SURPRISAL_DTYPE"],
    ["float targets", { targets: Float32Array.of(0, 1) }, "ERR_SURPRISAL_DTYPE"],
    ["targets of another length", { targets: Int32Array.of(0, 1, 2) }, "ERR_SURPRISAL_SHAPE"],
    ["mask as int32", { mask: Int32Array.of(1, 1) }, "ERR_SURPRISAL_DTYPE"],
    ["mask of another length", { mask: Uint8Array.of(1) }, "ERR_SURPRISAL_SHAPE"],
    ["an id past the vocabulary", { targets: Int32Array.of(0, 4) }, "ERR_SURPRISAL_RANGE"],
    ["an id in the padding", { vocab: 3 }, "ERR_SURPRISAL_RANGE"],
    ["−100 without ignoreIndex", { targets: Int32Array.of(-100, 0) }, "ERR_SURPRISAL_RANGE"],
    ["temperature 0", { temperature: 0 }, "ERR_SURPRISAL_OPTION"],
    ["scale NaN", { scale: NaN }, "ERR_SURPRISAL_OPTION"],
    ["a negative softcap", { softcap: -1 }, "ERR_SURPRISAL_OPTION"],
    ["chunkRows 0", { chunkRows: 0 }, "ERR_SURPRISAL_OPTION"],
    ["a fractional chunkRows", { chunkRows: 2.5 }, "ERR_SURPRISAL_OPTION"],
    ["sums in another type", { sums: "bfloat16" }, "ERR_SURPRISAL_OPTION"],
    ["an output of another type", { out: { entropies: new Float64Array(2) } }, "ERR_SURPRISAL_DTYPE"],
    ["an output over the input", { out: { entropies: hidden.subarray(0, 2) } }, "ERR_SURPRISAL_BUFFER"],
    ["an unknown backend", { backend: "gpu" }, "ERR_SURPRISAL_OPTION"],
  ])("%s is refused and nothing is written", (_, change, code) => {
    expect(forward(change)).toBe(code);
  });

  describe("backward", () => {
    const state = linearLogprob(hidden, weight, ids, { shape, backend });
    const g = Float32Array.of(1, 1);

    function backward(change: Record<string, unknown>): string | undefined {
      const { targets = ids, states: s = state, ...options } = change;
      const out = { gradHidden: new Float32Array(6).fill(SENTINEL), gradWeight: new Float32Array(12).fill(SENTINEL) };
      const call = { shape, backend, gradLogProbs: g, out, ...options };
      const code = errorCode(() =>
        linearLogprobBackward(hidden, weight, targets as Int32Array, s as typeof state, call),
      );
      if (code !== undefined) expect(new Set([...out.gradHidden, ...out.gradWeight])).toEqual(new Set([SENTINEL]));
      return code;
    }

    test("the call that the cases below change is a good one", () => {
      expect(backward({})).toBeUndefined();
    });

    test.each<[string, Record<string, unknown>, string]>([
      ["no gradient at all", { gradLogProbs: undefined }, "ERR_SURPRISAL_OPTION"],
      ["gradients of another length", { gradLogProbs: new Float32Array(3) }, "ERR_SURPRISAL_SHAPE"],
      ["integer gradients", { gradEntropies: Int32Array.of(1, 1) }, "ERR_SURPRISAL_DTYPE"],
      ["gradLogProbs without targets", { targets: null }, "ERR_SURPRISAL_DTYPE"],
      ["a state in float32", { states: { ...state, maxLogits: new Float32Array(2) } }, "ERR_SURPRISAL_DTYPE"],
      ["a state of other rows", { states: { ...state, log1pSums: new Float64Array(3) } }, "ERR_SURPRISAL_SHAPE"],
      [
        "a state without meanGaps",
        { states: { ...state, meanGaps: undefined }, gradEntropies: g },
        "ERR_SURPRISAL_OPTION",
      ],
      ["an unknown gradient", { gradients: ["head"] }, "ERR_SURPRISAL_OPTION"],
      ["one word for gradients", { gradients: "hidden" }, "ERR_SURPRISAL_OPTION"],
      ["the gradient of no bias", { gradients: ["bias"] }, "ERR_SURPRISAL_OPTION"],
      ["adding up without sums to add to", { accumulate: true, out: {} }, "ERR_SURPRISAL_OPTION"],
      ["accumulate as a number", { accumulate: 1 }, "ERR_SURPRISAL_OPTION"],
      ["out.gradHidden of another kind", { out: { gradHidden: new Float64Array(6) } }, "ERR_SURPRISAL_DTYPE"],
      ["out.gradWeight of another length", { out: { gradWeight: new Float32Array(11) } }, "ERR_SURPRISAL_SHAPE"],
      ["out.gradWeight over the weight", { out: { gradWeight: weight } }, "ERR_SURPRISAL_BUFFER"],
      ["out.gradHidden over hidden", { out: { gradHidden: hidden } }, "ERR_SURPRISAL_BUFFER"],
      ["an id past the vocabulary", { targets: Int32Array.of(0, 4) }, "ERR_SURPRISAL_RANGE"],
    ])("%s is refused and nothing is written", (_, change, code) => {
      expect(backward(change)).toBe(code);
    });
  });

  // The checks in front of a backend let none of these through; a C program has no such checks.
  (backend === "js" ? test.skip : test)(
    "native code itself refuses ids past the vocabulary (js trusts its callers)",
    () => {
      const { ops } = selectBackend("test", backend);
      const head = { dtype: 1 as const, hidden, weight, bias: null, targets: Int32Array.of(0, 4), mask: null };
      const sizes = { N: 2, D: 3, V: 4, padded: 4, chunkRows: 0, sums: 0, temperature: 1, scale: 1, softcap: 0 };
      const logprob = new Float32Array(2).fill(SENTINEL);
      const grad = new Float32Array(6).fill(SENTINEL);
      const none = {
        entropies: null,
        logSumExps: null,
        sumSquares: null,
        maxLogits: null,
        log1pSums: null,
        meanGaps: null,
      };
      const state = { maxLogits: Float64Array.of(1, 1), log1pSums: Float64Array.of(1, 1), meanGaps: null };
      const given = {
        gradLogProbs: Float32Array.of(1, 1),
        gradEntropies: null,
        accumulate: 0 as const,
        vocabStart: 0,
        vocabSize: 4,
      };
      expect(errorCode(() => ops.linearForward({ ...head, ...sizes, ...none, logProbs: logprob }))).toBe(
        "ERR_SURPRISAL_RANGE",
      );
      expect(
        errorCode(() =>
          ops.linearBackward({
            ...head,
            ...sizes,
            ...state,
            ...given,
            gradHidden: grad,
            gradWeight: null,
            gradBias: null,
          }),
        ),
      ).toBe("ERR_SURPRISAL_RANGE");
      expect([...logprob, ...grad].every((x) => x === SENTINEL)).toBe(true);
    },
  );
});
