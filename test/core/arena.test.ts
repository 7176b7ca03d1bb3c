// Arenas: outputs of all calls come from them with the bits that they have without, and what is used after a reset is refused.
import fc from "fast-check";
import { type Arena, createArena, gae, gaeAsync, logprob, logprobBackward, memoryStats, toHalfBits } from "../../lib";
import { withArena } from "../../lib/core/arena";
import { type CaseForm, tokenCase } from "../advantage/laws/token-batch";
import { ESTIMATORS } from "../advantage/laws/estimator-table";
import { LOSSES } from "../loss/laws/loss-table";
import { CASES } from "../support/device-cases";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { toHost } from "../support/to-host";

const floats = (length: number): Float32Array => Float32Array.from({ length }, (_, i) => Math.sin(i + 1));
const rows = { shape: [2, 4] as const, gamma: 1, lambda: 0.9 };
const [rewards, values] = [floats(8), floats(8)];

/** An arena whose memory is NaN as floats, −1 as integers. */
function dirty(bytes: number): Arena {
  const arena = createArena({ bytes });
  arena.take(Uint8Array, bytes).fill(0xff);
  arena.reset();
  return arena;
}

/** How large these are is known after the call: they are new arrays. */
const OF_UNKNOWN_SIZE = ["findSpans", "stepWeights"];

const DIRTY_BYTES = 2 ** 18;

/** Runs a call from a dirty arena, and says how many bytes of it were used. */
function fromDirty<Result>(run: () => Result): { readonly result: Result; readonly bytes: number } {
  const arena = dirty(DIRTY_BYTES);
  const result = withArena(arena, run);
  const { inUse, reserved } = memoryStats({ arena });
  expect(reserved).toBe(DIRTY_BYTES); // all of it is dirty
  return { result, bytes: inUse };
}

describe("memory", () => {
  test("outputs of a step lie behind one another, each on a cache line of its own", () => {
    const arena = createArena({ bytes: 4096 });
    const first = gae(rewards, values, { ...rows, arena });
    const second = gae(rewards, values, { ...rows, arena });
    const arrays = [first.advantages, first.returns, second.advantages, second.returns];
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).toBe(1);
    expect(arrays.map(({ byteOffset }) => byteOffset)).toEqual([0, 64, 128, 192]);
    expect(memoryStats({ arena })).toEqual({
      inUse: 256,
      reserved: 4096,
      peakInUse: 256,
      hugePages: 0,
      allocations: 4,
      reused: 4,
    });
  });

  test("the first step takes arrays one by one, from the second on nothing is taken", () => {
    const arena = createArena();
    const step = () => {
      gae(rewards, values, { ...rows, arena });
      const stats = memoryStats({ arena });
      arena.reset();
      return stats;
    };
    expect(step()).toMatchObject({ inUse: 128, reserved: 128, allocations: 2, reused: 0 });
    expect(step()).toMatchObject({ inUse: 128, reserved: 128, allocations: 4, reused: 2 });
    expect(step()).toMatchObject({ inUse: 128, reserved: 128, allocations: 6, reused: 4 });
    expect(memoryStats({ arena })).toMatchObject({ inUse: 0, peakInUse: 128 });
  });

  test("a step that needs more than those before has it, and the next ones lie in one piece again", () => {
    const arena = createArena({ bytes: 128 });
    for (const reused of [2, 2, 6]) {
      const [large, small] = [
        { ...rows, arena },
        { ...rows, arena },
      ];
      const results = [gae(rewards, values, large), gae(rewards, values, small)];
      for (const { advantages } of results) expect(advantages).toEqual(gae(rewards, values, rows).advantages);
      expect(memoryStats({ arena })).toMatchObject({ inUse: 256, reserved: 256 });
      if (reused === 6) expect(memoryStats({ arena }).reused).toBe(2 + 4 + 4);
      arena.reset();
    }
    expect(memoryStats({ arena }).peakInUse).toBe(256);
  });

  test("out goes first, and a call that names no arena takes nothing from it", () => {
    const arena = createArena({ bytes: 4096 });
    const advantages = new Float32Array(8);
    const given = gae(rewards, values, { ...rows, arena, out: { advantages } });
    expect(given.advantages).toBe(advantages);
    expect(given.returns.byteOffset).toBe(0);
    gae(rewards, values, rows);
    gae(rewards, values, { ...rows, arena: undefined });
    expect(memoryStats({ arena }).allocations).toBe(1);
  });

  test("plain arrays are read into memory of their own", () => {
    const arena = createArena({ bytes: 4096 });
    const { advantages } = gae([...rewards], [...values], { ...rows, arena });
    expect(advantages).toEqual(gae([...rewards], [...values], rows).advantages);
    expect(advantages.buffer.byteLength).toBe(4096);
  });

  test("a gradient of half types has their kind", () => {
    const arena = dirty(4096);
    const logits = toHalfBits(floats(10), "bfloat16");
    const options = { shape: [2, 5] as const, dtype: "bfloat16" as const };
    const state = logprob(logits, [1, 2], options);
    const gradient = (of?: Arena) =>
      logprobBackward(logits, [1, 2], state, { ...options, gradLogProbs: Float32Array.of(1, 1), arena: of });
    const own = gradient(arena);
    expect(own).toBeInstanceOf(Uint16Array);
    expect(own).toEqual(gradient());
    expect(own.buffer.byteLength).toBe(4096);
  });
});

test("huge pages are asked for under large arrays alone, and nothing is written there", () => {
  const arena = createArena();
  const logits = new Float32Array(2 ** 21);
  const call = () => logprob(logits, null, { shape: [2 ** 19, 4], arena });
  const grad = () =>
    logprobBackward(logits, null, call(), { shape: [2 ** 19, 4], gradEntropies: new Float32Array(2 ** 19), arena });
  grad();
  expect(memoryStats({ arena }).hugePages).toBe(0);
  arena.reset();
  const gradient = grad();
  const { hugePages, reserved } = memoryStats({ arena });
  // As many as the system has: none, where it has none.
  expect(hugePages % 2 ** 21).toBe(0);
  expect(hugePages).toBeLessThanOrEqual(reserved);
  expect(gradient.every((x) => x === 0)).toBe(true);
  expect(new Uint8Array(gradient.buffer, gradient.byteOffset + gradient.byteLength).every((x) => x === 0)).toBe(true);
});

describe("the end of a step", () => {
  test("arrays of before a reset have length 0, and ops refuse them", () => {
    const arena = createArena();
    for (let step = 0; step < 3; ++step) {
      const { advantages, returns } = gae(rewards, values, { ...rows, arena });
      const kept = returns.slice();
      arena.reset();
      expect([advantages.length, advantages[0], returns.length]).toEqual([0, undefined, 0]);
      expect(errorCode(() => gae(advantages, values, rows))).toBe("ERR_SURPRISAL_BUFFER");
      expect(errorCode(() => gae(rewards, values, { ...rows, out: { returns } }))).toBe("ERR_SURPRISAL_BUFFER");
      expect(kept).toEqual(gae(rewards, values, rows).returns);
    }
  });

  test("a call off the event loop ends before the step does", async () => {
    const arena = createArena({ bytes: 4096 });
    const pending = gaeAsync(rewards, values, { ...rows, arena });
    expect(errorCode(() => arena.reset())).toBe("ERR_SURPRISAL_BUFFER");
    expect(errorCode(() => arena.dispose())).toBe("ERR_SURPRISAL_BUFFER");
    const { advantages } = await pending;
    expect(advantages).toEqual(gae(rewards, values, rows).advantages);
    expect(memoryStats({ arena }).reused).toBe(2);
    arena.reset();
    expect(advantages.length).toBe(0);
    // One that fails has ended, too.
    await expect(gaeAsync(rewards, values, { ...rows, gamma: 2, arena })).rejects.toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
    });
    arena.reset();
  });

  test("a disposed arena is refused, by calls and by itself", () => {
    const arena = createArena();
    const { advantages } = gae(rewards, values, { ...rows, arena });
    arena.dispose();
    arena.dispose();
    expect([arena.disposed, advantages.length]).toEqual([true, 0]);
    expect(errorCode(() => gae(rewards, values, { ...rows, arena }))).toBe("ERR_SURPRISAL_DISPOSED");
    expect(errorCode(() => arena.reset())).toBe("ERR_SURPRISAL_DISPOSED");
    {
      using scoped = createArena();
      gae(rewards, values, { ...rows, arena: scoped });
    }
  });

  test("what is no arena is refused, and the next call does not get the one before", () => {
    const arena = createArena();
    const wrong = { ...rows, arena: {} as never };
    expect(errorCode(() => gae(rewards, values, wrong))).toBe("ERR_SURPRISAL_OPTION");
    expect(errorCode(() => gae(rewards, values, { ...rows, arena, unknown: 1 } as never))).toBe("ERR_SURPRISAL_OPTION");
    expect(errorCode(() => gae(rewards, values, { ...rows, arena, gamma: 7 }))).toBe("ERR_SURPRISAL_OPTION");
    gae(rewards, values, rows);
    expect(memoryStats({ arena }).allocations).toBe(0);
    expect(errorCode(() => createArena({ bytes: -1 }))).toBe("ERR_SURPRISAL_OPTION");
    expect(errorCode(() => memoryStats({ arena: {} as never }))).toBe("ERR_SURPRISAL_OPTION");
  });
});

eachBackend(
  (backend) => {
    const here = <Sent>(array: Sent) => array;

    test.each(CASES)("$title: the bits from a dirty arena are those without", ({ op, run }) => {
      const call = () => run(here as never, backend as never);
      const { result, bytes } = fromDirty(call);
      expect(toHost(result)).toEqual(toHost(call()));
      expect(bytes > 0).toBe(!OF_UNKNOWN_SIZE.includes(op));
    });

    const cases = (form?: CaseForm) => fc.integer().map((seed) => tokenCase(seed, 4, 9, form));
    const runs = { numRuns: 3 };

    test.each(Object.entries(ESTIMATORS))("%s: the same", (_, { variants }) => {
      for (const { run, form } of Object.values(variants))
        fc.assert(
          fc.property(cases(form), ({ padded }) => {
            const { result } = fromDirty(() => run(padded, backend));
            expect(result).toEqual(run(padded, backend));
          }),
          runs,
        );
    });

    test.each(Object.entries(LOSSES))("%s: the same", (_, { variants }) => {
      fc.assert(
        fc.property(cases("full"), ({ padded }) => {
          for (const { run } of Object.values(variants)) {
            const { result } = fromDirty(() => run(padded, { backend }));
            expect(result).toEqual(run(padded, { backend }));
          }
        }),
        runs,
      );
    });
  },
  ["js", "cpu", "wasm"],
);
