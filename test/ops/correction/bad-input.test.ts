// What the correction ops refuse: before any backend sees it, and in the backends themselves.
import { backendInfo, boundMismatch, measureMismatch } from "../../../lib";
import { selectBackend } from "../../../lib/backend/select";
import { registerBackends } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";

const six = new Float32Array(6);
const good = { shape: [2, 3], statistic: "ratio" } as const;

describe.each([
  ["measureMismatch", measureMismatch],
  ["boundMismatch", boundMismatch],
] as const)("%s", (_, op) => {
  // On js, which refuses nothing of this itself.
  const call = (options: object, current: unknown = six, old: unknown = six): string | undefined =>
    errorCode(() => op(current as Float32Array, old as Float32Array, { ...good, backend: "js", ...options }));

  test("refuses arrays of the wrong kind or length", () => {
    expect(call({}, Int16Array.of(1, 2, 3, 4, 5, 6))).toBe("ERR_SURPRISAL_DTYPE");
    expect(call({}, six, new Float32Array(5))).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ mask: new Uint8Array(5) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ mask: new Float32Array(6) })).toBe("ERR_SURPRISAL_DTYPE");
    expect(call({ shape: undefined })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ shape: undefined, offsets: Int32Array.of(0, 7, 6) })).toBe("ERR_SURPRISAL_RANGE");
  });

  test("refuses options outside of their range", () => {
    const bad = [
      { statistic: "k4" },
      { logClamp: 0 },
      { logClamp: NaN },
      { low: NaN },
      { high: NaN },
      { low: 2, high: 1 },
    ];
    for (const options of bad) expect(call(options)).toBe("ERR_SURPRISAL_OPTION");
    expect(() => op(six, six, { ...good, statistic: "kl" as "k1" })).toThrow(
      `statistic is "kl", expected one of "k1", "k2", "k3", "ratio", "distance", "current", "old", "total"`,
    );
  });
});

test("boundMismatch refuses outputs that share memory, and factors that are not one a row", () => {
  const call = (options: object): string | undefined =>
    errorCode(() => boundMismatch(six, six, { ...good, ...options }));
  expect(call({ out: { weights: six } })).toBe("ERR_SURPRISAL_BUFFER");
  expect(call({ out: { weights: new Float64Array(6) } })).toBe("ERR_SURPRISAL_DTYPE");
  const flags = new Uint8Array(7);
  expect(call({ mask: flags.subarray(0, 6), out: { kept: flags.subarray(1) } })).toBe("ERR_SURPRISAL_BUFFER");
  expect(call({ rowFactors: new Float64Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
  expect(call({ outside: "drop" })).toBe("ERR_SURPRISAL_OPTION");
});

registerBackends(
  backendInfo().backends.filter(({ name }) => name !== "js"), // does not look: its arrays look after themselves
  (backend) => {
    test.each([[[0, 4, 3]], [[0, 3, 7]], [[0, -1, 6]], [[0, 2 ** 31 - 1, 6]]])(
      "offsets %j: refused, and nothing is written",
      (list) => {
        const { ops } = selectBackend("test", backend);
        const refused = expect.objectContaining({ code: "ERR_SURPRISAL_RANGE" }) as Error;
        const rows = {
          dtype: 1,
          logProbs: six,
          oldLogProbs: six,
          mask: null,
          offsets: Int32Array.from(list),
          n: 6,
          B: 2,
          T: 3,
        } as const;
        const rule = { statistic: 3, logClamp: Infinity, low: -Infinity, high: Infinity } as const;
        const moments = new Float64Array(12).fill(9);
        const measures = { moments, bounded: null, differences: null, above: null, below: null };
        expect(() => ops.correctionMeasure({ ...rows, ...rule, ...measures })).toThrow(refused);
        const kept = new Uint8Array(6).fill(9);
        const results = { rowFactors: null, outside: 0, maskedWeight: 0, weights: null, kept, keptCounts: null };
        expect(() => ops.correctionBound({ ...rows, ...rule, ...results })).toThrow(refused);
        expect([...moments, ...kept]).toEqual(new Array(18).fill(9));
      },
    );
  },
);
