// Offsets that the public functions refuse before any backend sees them. Native backends look for themselves.
import { backendInfo } from "../../lib";
import { selectBackend } from "../../lib/backend/select";
import { registerBackends } from "../support/each-backend";

registerBackends(
  backendInfo().backends.filter(({ name }) => name !== "js"), // does not look: its arrays look after themselves
  (backend) => {
    const { ops } = selectBackend("test", backend);
    const common = (offsets: Int32Array) => ({
      dtype: 1 as const,
      values: Float32Array.of(1, 2, 3, 4),
      mask: null,
      offsets,
      n: 4,
      B: 2,
      T: 0,
      over: 0,
    });

    const calls = {
      selectTop: (offsets: Int32Array) => {
        ops.selectTop({
          ...common(offsets),
          share: NaN,
          k: 1,
          least: 0,
          selected: new Uint8Array(4),
          counts: new Int32Array(2),
        });
      },
      selectQuantile: (offsets: Int32Array) => {
        ops.selectQuantile({
          ...common(offsets),
          q: 0.5,
          thresholds: new Float64Array(2),
          selected: new Uint8Array(4),
        });
      },
    };

    test.each(Object.entries(calls))("%s refuses offsets that go down or outside", (_, call) => {
      const refused = expect.objectContaining({ code: "ERR_SURPRISAL_RANGE" }) as Error;
      for (const offsets of [
        [0, 3, 2],
        [0, 2, 5],
        [0, -1, 4],
        [0, 2 ** 31 - 1, 4],
      ]) {
        expect(() => call(Int32Array.from(offsets))).toThrow(refused);
        expect(() => call(Int32Array.of(0, 2, 4))).not.toThrow(); // the fault is reported once
      }
    });

    test("parameters out of range are refused", () => {
      const offsets = Int32Array.of(0, 2, 4);
      const option = expect.objectContaining({ code: "ERR_SURPRISAL_OPTION" }) as Error;
      const selected = new Uint8Array(4);
      const top = { ...common(offsets), share: NaN, k: 1, least: 0, selected, counts: null };
      expect(() => ops.selectTop({ ...top, over: 1 })).toThrow(option);
      expect(() => ops.selectTop({ ...top, share: 1.5 })).toThrow(option);
      expect(() => ops.selectTop({ ...top, k: -1 })).toThrow(
        expect.objectContaining({ code: "ERR_SURPRISAL_SHAPE" }) as Error,
      );
      const quantile = { ...common(offsets), q: 0.5, thresholds: null, selected };
      for (const q of [NaN, -0.1, 1.1]) expect(() => ops.selectQuantile({ ...quantile, q })).toThrow(option);
      expect(() => ops.selectQuantile({ ...quantile, selected: null })).toThrow(option);
      expect([...selected]).toEqual([0, 0, 0, 0]);
    });
  },
);
