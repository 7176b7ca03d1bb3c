// What the scans refuse, and that they leave every array as it was.
import { discountedReturns, gae, SurprisalError, vtrace } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { thrownBy } from "../support/thrown-by";

eachBackend((backend) => {
  describe("refuses, writing nothing:", () => {
    const reward = Float32Array.of(1, 2, 3, 4);
    const value = new Float32Array(4);
    const good = { shape: [2, 2], gamma: 1, lambda: 1 } as const;
    const detached = new Float32Array(4);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    const shared = new Float32Array(8);

    test.each([
      [
        "a wrong length",
        () => gae(reward, new Float32Array(3), { ...good, backend }),
        "ERR_SURPRISAL_SHAPE",
        "values has 3",
      ],
      [
        "a wrong element type",
        () => gae(new Int32Array(4) as never, value, { ...good, backend }),
        "ERR_SURPRISAL_DTYPE",
        "rewards",
      ],
      ["a detached buffer", () => gae(detached, value, { ...good, backend }), "ERR_SURPRISAL_BUFFER", "rewards"],
      [
        "NaN as gamma",
        () => gae(reward, value, { ...good, gamma: NaN, backend }),
        "ERR_SURPRISAL_OPTION",
        "gamma is NaN",
      ],
      [
        "infinity as lambda",
        () => gae(reward, value, { ...good, lambda: Infinity, backend }),
        "ERR_SURPRISAL_OPTION",
        "lambda",
      ],
      ["a gamma above 1", () => gae(reward, value, { ...good, gamma: 1.5, backend }), "ERR_SURPRISAL_OPTION", "[0, 1]"],
      [
        "an unknown mask mode",
        () => gae(reward, value, { ...good, maskMode: "drop" as never, backend }),
        "ERR_SURPRISAL_OPTION",
        '"skip"',
      ],
      [
        "offsets that go down",
        () => gae(reward, value, { gamma: 1, lambda: 1, offsets: Int32Array.of(0, 3, 2, 4), backend }),
        "ERR_SURPRISAL_RANGE",
        "offsets[2]",
      ],
      [
        "offsets past the end",
        () => gae(reward, value, { gamma: 1, lambda: 1, offsets: Int32Array.of(0, 5), backend }),
        "ERR_SURPRISAL_SHAPE",
        "rewards has 4",
      ],
      [
        "neither shape nor offsets",
        () => gae(reward, value, { gamma: 1, lambda: 1, backend }),
        "ERR_SURPRISAL_OPTION",
        "shape",
      ],
      [
        "a negative cap",
        () => vtrace(reward, value, value, { ...good, rhoBar: -1, backend }),
        "ERR_SURPRISAL_OPTION",
        "rhoBar",
      ],
      [
        "an output over an input",
        () => discountedReturns(reward, { shape: [2, 2], gamma: 1, out: { returns: reward }, backend }),
        "ERR_SURPRISAL_BUFFER",
        "out.returns overlaps rewards",
      ],
      [
        "outputs over each other",
        () =>
          gae(reward, value, {
            ...good,
            out: { advantages: shared.subarray(0, 4), returns: shared.subarray(2, 6) },
            backend,
          }),
        "ERR_SURPRISAL_BUFFER",
        "overlaps",
      ],
    ] as const)("%s", (_, call, code, text) => {
      const error = thrownBy(call);
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe(code);
      expect((error as SurprisalError).message).toContain(text);
      expect([...shared, ...reward]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    });
  });
});
