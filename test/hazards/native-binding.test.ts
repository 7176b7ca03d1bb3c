// The binding trusts nobody: what TypeScript checks for the message, native code checks again for the memory.
import { nativeAddon } from "../../lib/backend/addon";
import type { OpArgs } from "../../lib/backend/backend";
import { HAND_OVER } from "../../lib/backend/contract/ops";
import { jsBackend } from "../../lib/backend/js";

const native = nativeAddon();
const why = "reason" in native ? ` (skipped: ${native.reason})` : "";

("reason" in native ? describe.skip : describe)(`the native binding${why}`, () => {
  const addon = "addon" in native ? native.addon : (undefined as never);
  const OK = 0;
  test("offers the ops of the backend interface, no more and no fewer", () => {
    expect(Object.keys(addon.ops).sort()).toEqual(Object.keys(jsBackend.ops).sort());
  });

  describe("one op with arguments that TypeScript would refuse", () => {
    const reward = Float32Array.of(1, 2, 3, 4);
    const advantages = new Float32Array(4);
    const good: OpArgs<"scanGae"> = {
      dtype: 1,
      rewards: reward,
      values: new Float32Array(4),
      gammas: null,
      mask: null,
      bootstrap: null,
      offsets: null,
      n: 4,
      B: 2,
      T: 2,
      gamma: 1,
      lambda: 1,
      maskMode: 0,
      transformMasked: 0,
      lambdas: null,
      lambdasPerToken: 0,
      advantages,
      returns: new Float32Array(4),
    };
    const call = (change: object): number => {
      const args = { ...good, ...change };
      return HAND_OVER.scanGae(addon.ops.scanGae.call, addon.numbers, addon.openCpu(), null, args);
    };
    const detached = new Float32Array(4);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });

    afterEach(() => {
      advantages.fill(0);
    });

    test("good arguments are accepted, so that the refusals below mean something", () => {
      expect(call({})).toBe(OK);
      expect([...advantages]).toEqual([3, 2, 7, 4]);
    });

    test.each<[string, object, RegExp]>([
      ["an array too short for the sizes", { rewards: new Float32Array(3) }, /rewards has 3 elements, expected 4/],
      ["a detached array", { rewards: detached }, /rewards has 0 elements/],
      ["an array of another type", { rewards: new Float64Array(4) }, /rewards has another element type/],
      ["no array where one is needed", { rewards: null }, /rewards is NULL/],
      ["something that is no array", { rewards: { length: 4 } }, /rewards is not a typed array/],
      ["sizes that contradict each other", { T: 3 }, /expected B \* T/],
      ["a negative size", { n: -1 }, /n|cannot have the sizes/],
      ["a size past 2^53", { n: 2 ** 60 }, /n is/],
      ["a size that overflows in bytes", { n: 2 ** 52, B: 1, T: 2 ** 52 }, /expected|sizes/],
      ["a fraction as a size", { B: 1.5 }, /B is 1.5/],
      ["no number as a size", { T: undefined }, /T is nan/],
      ["NaN as gamma", { gamma: NaN }, /gamma is/],
      ["an unknown dtype", { dtype: 99 }, /element type|dtype/],
      ["an unknown mask mode", { maskMode: 7 }, /mask_mode is 7/],
      ["an output over an input", { advantages: reward }, /advantages overlaps rewards/],
      ["an output partly over another", { returns: advantages.subarray(0) }, /overlaps/],
      ["offsets that go down", { offsets: Int32Array.of(0, 3, 2), B: 2 }, /offsets/],
      ["offsets past the end", { offsets: Int32Array.of(0, 2, 5) }, /offsets ends at 5/],
    ])("%s: refused, nothing written", (_, change, text) => {
      expect(call(change)).not.toBe(OK);
      expect(addon.lastError()).toMatch(text);
      expect([...advantages, ...reward]).toEqual([0, 0, 0, 0, 1, 2, 3, 4]);
    });

    test("a bit of the number behind the others says of each array whether it is there; nothing but bits is taken", () => {
      /** rewards and values, advantages and returns. */
      const [there, place] = [0b11000011, 9];
      const saying = (bits: number): number => {
        const call = (...values: unknown[]): number => {
          expect(addon.numbers[place]).toBe(there);
          addon.numbers[place] = bits;
          return addon.ops.scanGae.call(...values);
        };
        return HAND_OVER.scanGae(call, addon.numbers, addon.openCpu(), null, good);
      };
      expect(saying(there)).toBe(OK);
      expect(saying(2 ** 32 - 1)).toBe(OK); // of arrays that are null, and behind the last
      expect([...advantages]).toEqual([3, 2, 7, 4]);
      advantages.fill(0);
      expect(saying(there - 1)).not.toBe(OK);
      expect(addon.lastError()).toMatch(/rewards is NULL/);
      for (const wrong of [NaN, -1, 2 ** 32, Infinity]) {
        expect(saying(wrong)).not.toBe(OK);
        expect(addon.lastError()).toMatch(/expected a bit for each array/);
      }
      expect([...advantages]).toEqual([0, 0, 0, 0]);
    });

    test("a missing argument and an unknown session", () => {
      const gae = addon.ops.scanGae.call;
      const inSession = (session: number, ...more: unknown[]): number =>
        HAND_OVER.scanGae((...values) => gae(...values, ...more), addon.numbers, session, null, good);
      expect(inSession(addon.openCpu())).toBe(OK);
      expect(inSession(12345)).not.toBe(OK);
      expect(inSession(addon.openCpu(), null)).not.toBe(OK);
      expect(gae(addon.openCpu(), null, 1)).not.toBe(OK);
      expect(gae()).not.toBe(OK);
      expect(gae("x")).not.toBe(OK);
    });
  });

  test("outputs of integers in shared memory, which a call writes in copies, arrive in their own arrays", () => {
    const args: OpArgs<"selectTop"> = {
      dtype: 1,
      values: Float32Array.of(3, 1, 2),
      mask: new Uint8Array([1, 1, 1]),
      offsets: null,
      n: 3,
      B: 1,
      T: 3,
      over: 0,
      share: NaN,
      k: 2,
      least: 0,
      selected: new Uint8Array(new SharedArrayBuffer(3)),
      counts: new Int32Array(new SharedArrayBuffer(4)),
    };
    expect(HAND_OVER.selectTop(addon.ops.selectTop.call, addon.numbers, addon.openCpu(), null, args)).toBe(OK);
    expect([...args.mask!, ...args.selected, ...args.counts!]).toEqual([1, 1, 1, 1, 0, 1, 2]);
  });

  test("a library that is not there is a reason, not a crash", () => {
    expect(addon.openLibrary("/nonexistent/libsurprisal_cuda.so", 0)).toMatch(
      /cannot open shared object|not found|No such file/,
    );
  });

  test("an asynchronous call resolves with the same numbers, and a refusal has its text", async () => {
    const returns = new Float32Array(2);
    const args: OpArgs<"scanReturns"> = {
      dtype: 1,
      rewards: Float32Array.of(1, 2),
      gammas: null,
      mask: null,
      bootstrap: null,
      offsets: null,
      n: 2,
      B: 1,
      T: 2,
      gamma: 1,
      maskMode: 0,
      transformMasked: 0,
      returns,
    };
    const call = (change: object) =>
      HAND_OVER.scanReturns(addon.ops.scanReturns.callAsync, addon.numbers, addon.openCpu(), null, {
        ...args,
        ...change,
      });
    await expect(call({})).resolves.toBeNull();
    expect([...returns]).toEqual([3, 2]);
    await expect(call({ offsets: Int32Array.of(0, 5) })).resolves.toMatchObject({ status: 4 });
  });
});
