// Stores past the cache want 16 bytes: outputs that begin between two of these are written all the same, with the same bits.
import { logRatio } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const N = 301; // neither registers nor pieces divide it

eachBackend((backend) => {
  describe.each([
    ["float32", Float32Array],
    ["float64", Float64Array],
  ] as const)("%s", (_, kind) => {
    test.each([
      [0, 1],
      [1, 0],
      [1, 1],
      [2, 2],
      [3, 1],
    ])("log ratios %i and ratios %i numbers behind a beginning", (logsAt, ratiosAt) => {
      const r = rng(41);
      const [current, old] = [kind.from(r.f64(N, -3, 0)), kind.from(r.f64(N, -3, 0))];
      const place = (at: number) => new kind(new ArrayBuffer((N + 4) * kind.BYTES_PER_ELEMENT)).subarray(at, at + N);
      const options = { level: "token", shape: [1, N], backend } as const;
      const wanted = logRatio(current, old, options);
      const out = { logRatios: place(logsAt), ratios: place(ratiosAt) };
      expect(logRatio(current, old, { ...options, out })).toEqual(wanted);
      expect(out.ratios).toEqual(wanted.ratios);
    });
  });
});
