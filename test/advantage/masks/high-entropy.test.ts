import type { SurprisalError } from "../../../lib";
import { highEntropyMask, quantileMask, topMask } from "../../../lib";
import { membersOf, quantileOracle, topOracle } from "../../oracle/select";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const [B, T] = [7, 29];
const shape = [B, T] as const;

eachBackend((backend) => {
  describe.each([
    ["float32", Float32Array],
    ["float64", Float64Array],
  ] as const)("%s", (_, Floats) => {
    const entropies = Floats.from(rng(1).f32(B * T, 0, 4));
    const mask = rng(2)
      .mask(B * T, 0.7)
      .fill(0, 2 * T, 3 * T); // row 2 has no token

    test.each([0, 0.05, 0.2, 0.5, 1])("share %p of the batch: at or above the quantile 1 - share", (share) => {
      const kept = membersOf(B * T, B, mask, "all")[0]!;
      const threshold = quantileOracle(
        kept.map((i) => entropies[i]!),
        1 - share,
      );
      const want = Array.from(entropies, (x, i) => (mask[i] !== 0 && x >= threshold ? 1 : 0));
      const got = highEntropyMask(entropies, { shape, mask, share, backend });
      expect([...got]).toEqual(want);
      expect(highEntropyMask(entropies, { shape, mask, quantile: 1 - share, preset: "trl", backend })).toEqual(got);
    });

    test.each([0.01, 0.29, 0.5, 0.99])("share %p of each row: the largest, one at least", (share) => {
      const want = topOracle(entropies, membersOf(B * T, B, mask, "row"), (count) =>
        Math.max(1, Math.floor(count * share)),
      );
      expect(highEntropyMask(entropies, { shape, mask, share, rule: "top", over: "row", backend })).toEqual(want);
      expect(highEntropyMask(entropies, { shape, mask, share, preset: "lightrft", backend })).toEqual(want);
    });

    test("rule and scope are free of each other", () => {
      const options = { shape, mask, backend } as const;
      const rows = highEntropyMask(entropies, { ...options, share: 0.25, over: "row" });
      expect(rows).toEqual(quantileMask(entropies, { ...options, q: 0.75 }).selected);
      const batch = highEntropyMask(entropies, { ...options, share: 0.25, rule: "top", least: 0 });
      expect(batch).toEqual(topMask(entropies, { ...options, share: 0.25, over: "all" }).selected);
    });

    test("what lies under the mask changes nothing", () => {
      const poisoned = entropies.map((x, i) => (mask[i] !== 0 ? x : NaN));
      for (const preset of ["trl", "lightrft"] as const) {
        const options = { shape, mask, share: 0.3, preset, backend };
        expect(highEntropyMask(poisoned, options)).toEqual(highEntropyMask(entropies, options));
      }
    });

    test("a row of zeros selects kept tokens, never padding", () => {
      const got = highEntropyMask(new Floats(4), {
        shape: [1, 4],
        mask: Uint8Array.of(0, 0, 1, 1),
        share: 0.5,
        preset: "lightrft",
        backend,
      });
      expect([...got]).toEqual([0, 0, 1, 0]);
    });
  });

  test("a share outside of (0, 1) keeps everything where that is the convention", () => {
    const x = Float32Array.of(1, 2, 3, 4);
    for (const share of [-0.5, 0, 1, 1.5]) {
      const options = { shape: [2, 2], share, preset: "lightrft", backend } as const;
      expect([...highEntropyMask(x, options)]).toEqual([1, 1, 1, 1]);
      expect([...highEntropyMask(x, { ...options, mask: Uint8Array.of(1, 0, 255, 0) })]).toEqual([1, 0, 1, 0]);
    }
    expect([...highEntropyMask(x, { shape: [2, 2], share: 0, backend })]).toEqual([0, 0, 0, 1]);
  });

  test("nothing live, nothing kept", () => {
    for (const preset of ["trl", "lightrft"] as const) {
      const options = { shape: [1, 2], mask: Uint8Array.of(0, 0), share: 0.5, preset, backend } as const;
      expect([...highEntropyMask(Float32Array.of(NaN, 1), options)]).toEqual([0, 0]);
    }
    expect(highEntropyMask(new Float32Array(0), { shape: [0, 3], share: 0.5, backend })).toHaveLength(0);
  });

  test.each([
    ["neither share nor quantile", "ERR_SURPRISAL_OPTION", { share: undefined }],
    ["both", "ERR_SURPRISAL_OPTION", { quantile: 0.5 }],
    ["a quantile for the top rule", "ERR_SURPRISAL_OPTION", { share: undefined, quantile: 0.5, rule: "top" }],
    ["a share that is refused", "ERR_SURPRISAL_OPTION", { share: 1.1 }],
    ["NaN", "ERR_SURPRISAL_OPTION", { share: NaN }],
    ["NaN where any share is allowed", "ERR_SURPRISAL_OPTION", { share: NaN, preset: "lightrft" }],
    ["infinity where any share is allowed", "ERR_SURPRISAL_OPTION", { share: Infinity, preset: "lightrft" }],
    ["a quantile outside", "ERR_SURPRISAL_OPTION", { share: undefined, quantile: -0.1 }],
    ["an unknown rule", "ERR_SURPRISAL_OPTION", { rule: "bottom" }],
    ["an unknown scope", "ERR_SURPRISAL_OPTION", { over: "group" }],
    ["an unknown preset", "ERR_SURPRISAL_OPTION", { preset: "maxent" }],
    ["least that is no count", "ERR_SURPRISAL_OPTION", { least: -1 }],
    ["a mask of another length", "ERR_SURPRISAL_SHAPE", { mask: new Uint8Array(2) }],
    ["a shape that does not fit", "ERR_SURPRISAL_SHAPE", { shape: [1, 2] }],
    ["no layout", "ERR_SURPRISAL_OPTION", { shape: undefined }],
  ])("%s: %s", (_, code, wrong) => {
    const options = { shape: [1, 3] as const, share: 0.5, backend, ...(wrong as object) };
    expect(() => highEntropyMask(Float32Array.of(1, 2, 3), options)).toThrow(
      expect.objectContaining({ code }) as SurprisalError,
    );
  });
});
