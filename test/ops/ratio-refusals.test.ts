// Bad input: each with its code, nothing written.
import { SurprisalError } from "../../lib";
import { clippedObjective, type ClippedObjectiveOptions } from "../../lib/ops/loss";
import { logRatio } from "../../lib/ops/ratio";
import { eachBackend } from "../support/each-backend";
import { thrownBy } from "../support/thrown-by";

eachBackend((backend) => {
  const current = Float32Array.of(-1, -2, -3, -4);
  const old = Float32Array.of(-4, -3, -2, -1);
  const advantages = Float32Array.of(1, -1);
  const good = { shape: [2, 2], level: "token", clipLow: 0.2, clipHigh: 0.2, backend } as const;
  const detached = new Float32Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const shared = new Float32Array(8);

  const objective = (options: Partial<ClippedObjectiveOptions>) => () =>
    clippedObjective(current, old, advantages, { ...good, ...options });
  const packed =
    (offsets: Int32Array, more: Partial<ClippedObjectiveOptions> = {}) =>
    () =>
      clippedObjective(current, old, advantages, {
        level: "token",
        clipLow: 0.2,
        clipHigh: 0.2,
        offsets,
        backend,
        ...more,
      });

  const OPTION = "ERR_SURPRISAL_OPTION";
  test.each([
    [
      "old of another length",
      () => logRatio(current, new Float32Array(3), good),
      "ERR_SURPRISAL_SHAPE",
      "oldLogProbs has 3",
    ],
    [
      "advantages of no known length",
      () => clippedObjective(current, old, new Float32Array(3), good),
      "ERR_SURPRISAL_SHAPE",
      "advantages has 3",
    ],
    [
      "advantages per token at sequence level",
      () => clippedObjective(current, old, current, { ...good, level: "sequence" }),
      "ERR_SURPRISAL_SHAPE",
      "one per row",
    ],
    [
      "advantages said to be per token at group level",
      objective({ level: "group", groups: "all", advantagesPer: "token" }),
      OPTION,
      "advantagesPer",
    ],
    ["an unknown advantagesPer", objective({ advantagesPer: "group" as never }), OPTION, "advantagesPer"],
    [
      "as many packed rows as tokens, when nothing says what an advantage is for",
      () =>
        clippedObjective(current, old, current, {
          ...good,
          shape: undefined,
          offsets: Int32Array.of(0, 2, 2, 2, 4),
        }),
      OPTION,
      "advantagesPer",
    ],
    [
      "log-probs that are no floats",
      () => logRatio(new Int32Array(4) as never, old, good),
      "ERR_SURPRISAL_DTYPE",
      "logProbs",
    ],
    [
      "an array of integers",
      () => logRatio(Int32Array.of(1, 2, 3, 4) as never, old, good),
      "ERR_SURPRISAL_DTYPE",
      "logProbs",
    ],
    ["a detached buffer", () => clippedObjective(detached, old, advantages, good), "ERR_SURPRISAL_BUFFER", "logProbs"],
    ["a mask of floats", objective({ mask: Float32Array.of(1, 0, 1, 1) as never }), "ERR_SURPRISAL_DTYPE", "mask"],
    ["a short mask", objective({ mask: new Uint8Array(3) }), "ERR_SURPRISAL_SHAPE", "mask has 3"],
    ["a negative clipLow", objective({ clipLow: -0.1 }), OPTION, "clipLow is -0.1"],
    ["NaN as clipLow", objective({ clipLow: NaN }), OPTION, "clipLow is NaN"],
    ["NaN as clipHigh", objective({ clipHigh: NaN }), OPTION, "clipHigh is NaN"],
    ["a missing clipHigh", objective({ clipHigh: undefined }), OPTION, "clipHigh is undefined"],
    ["-Infinity as clipHigh", objective({ clipHigh: -Infinity }), OPTION, "clipHigh"],
    ["a dual clip of 1", objective({ dualClip: 1 }), OPTION, "dualClip is 1"],
    ["NaN as dual clip", objective({ dualClip: NaN }), OPTION, "dualClip"],
    ["a ratio cap of 0", objective({ ratioCap: 0 }), OPTION, "ratioCap"],
    ["NaN as log clamp", objective({ logClamp: NaN }), OPTION, "logClamp"],
    ["a negative max log ratio", objective({ maxLogRatio: -1 }), OPTION, "maxLogRatio"],
    ["NaN as max log ratio", objective({ maxLogRatio: NaN }), OPTION, "maxLogRatio"],
    [
      "row weights of another length",
      objective({ rowWeights: new Float64Array(4) }),
      "ERR_SURPRISAL_SHAPE",
      "rowWeights",
    ],
    ["an unknown level", objective({ level: "batch" as never }), OPTION, '"sequence"'],
    ["an unknown reduction", objective({ reduce: "max" as never }), OPTION, "reduce"],
    ["groups at another level", objective({ groups: [0, 1] }), OPTION, "level"],
    ["too few group labels", objective({ level: "group", groups: [0] }), "ERR_SURPRISAL_SHAPE", "groups"],
    [
      "group labels that are no integers",
      objective({ level: "group", groups: [0, 0.5] }),
      "ERR_SURPRISAL_VALUE",
      "groups[1]",
    ],
    [
      "group offsets past the rows",
      objective({ level: "group", groupOffsets: Int32Array.of(0, 3) }),
      "ERR_SURPRISAL_RANGE",
      "groupOffsets",
    ],
    [
      "group offsets that go down",
      objective({ level: "group", groupOffsets: Int32Array.of(0, 2, 1, 2) }),
      "ERR_SURPRISAL_RANGE",
      "groupOffsets[2]",
    ],
    [
      "labels and offsets of groups",
      objective({ level: "group", groups: [0, 1], groupOffsets: Int32Array.of(0, 2) }),
      OPTION,
      "groups",
    ],
    ["offsets that go down", packed(Int32Array.of(0, 3, 2, 4)), "ERR_SURPRISAL_RANGE", "offsets[2]"],
    ["offsets past the end", packed(Int32Array.of(0, 2, 5)), "ERR_SURPRISAL_SHAPE", "logProbs has 4"],
    ["offsets that do not begin at 0", packed(Int32Array.of(1, 2, 4)), "ERR_SURPRISAL_RANGE", "offsets[0]"],
    ["shape and offsets", packed(Int32Array.of(0, 2, 4), { shape: [2, 2] }), OPTION, "shape"],
    [
      "an output over an input",
      objective({ out: { gradLogProbs: current } }),
      "ERR_SURPRISAL_BUFFER",
      "out.gradLogProbs overlaps logProbs",
    ],
    [
      "an output of another type",
      objective({ out: { gradLogProbs: new Float64Array(4) } }),
      "ERR_SURPRISAL_DTYPE",
      "out.gradLogProbs",
    ],
    [
      "an output of another length",
      objective({ outputs: ["losses"], out: { losses: new Float32Array(2) } }),
      "ERR_SURPRISAL_SHAPE",
      "out.losses",
    ],
    [
      "a clipped output that is no Uint8Array",
      objective({ outputs: ["clipped"], out: { clipped: new Float32Array(4) as never } }),
      "ERR_SURPRISAL_DTYPE",
      "out.clipped",
    ],
    [
      "outputs over each other",
      objective({
        outputs: ["losses", "ratios"],
        out: { losses: shared.subarray(0, 4), ratios: shared.subarray(2, 6) },
      }),
      "ERR_SURPRISAL_BUFFER",
      "overlaps",
    ],
    ["an output it does not have", objective({ outputs: ["klValues" as never] }), OPTION, "outputs"],
    ["memory for an array that is not wanted", objective({ out: { ratios: shared } }), OPTION, "out.ratios"],
    [
      "a log ratio over an input",
      () => logRatio(current, old, { ...good, out: { ratios: old } }),
      "ERR_SURPRISAL_BUFFER",
      "out.ratios overlaps oldLogProbs",
    ],
  ] as const)("refuses %s", (_, call, code, text) => {
    const error = thrownBy(call);
    expect(error).toBeInstanceOf(SurprisalError);
    expect((error as SurprisalError).code).toBe(code);
    expect((error as SurprisalError).message).toContain(text);
    expect([...current, ...old, ...shared]).toEqual([-1, -2, -3, -4, -4, -3, -2, -1, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test("allows a lower clip width of 1 and more, which never clips", () => {
    for (const clipLow of [1, 2.5, Infinity]) {
      const got = clippedObjective(Float64Array.of(-50), Float64Array.of(0), Float64Array.of(-1), {
        shape: [1, 1],
        level: "sequence",
        clipLow,
        clipHigh: 0.2,
        outputs: ["ratios"],
        backend,
      });
      expect(got.clipFraction).toBe(0);
      expect(got.objective).toBe(-got.ratios[0]!);
    }
  });
});
