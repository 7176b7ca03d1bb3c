// Random calls of every op on js, and the same on the other backends: no disagreement. Longer and elsewhere:
//
//   SURPRISAL_FUZZ_CALLS   calls of each op; unless told 60 on cpu and on wasm, 10 on emulated
//   SURPRISAL_FUZZ_SEED    where the seeds begin, 1 unless told
//
// A disagreement is shrunk and printed as the call that shows it, with the seed that finds it again.
import { inspect } from "node:util";

import { backendInfo } from "../../lib";
import { difference, outcomeOf } from "./agree";
import type { Drawn } from "./calling";
import { CALLS } from "./calls";
import { fresh, replay, shrink } from "./draw";

const first = Number(process.env.SURPRISAL_FUZZ_SEED || 1);

/** How many calls of each op, and how far they may be off: relative to the largest number of a call. The kernels of a device add rows of logits in float32. */
const RUNS = {
  cpu: { calls: 60, tolerance: 2e-6 },
  wasm: { calls: 60, tolerance: 2e-6 },
  emulated: { calls: 10, tolerance: 2e-6 },
} as const;

/** The largest finite number of the arrays that went in, at least 1. */
function scaleOf(given: unknown): number {
  if (typeof given !== "object" || given === null) return 1;
  if (!ArrayBuffer.isView(given)) return Math.max(1, ...Object.values(given).map(scaleOf));
  return (given as Float64Array).reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 1);
}

for (const backend of ["cpu", "wasm", "emulated"] as const) {
  const { available, reason } = backendInfo().backends.find(({ name }) => name === backend)!;
  if (!available) {
    test.skip(`random calls are not compared: ${backend} is not available: ${reason}`, () => undefined);
    continue;
  }
  describe(`random calls give on ${backend} what they give on js`, () => {
    const { tolerance } = RUNS[backend];
    const calls = Number(process.env.SURPRISAL_FUZZ_CALLS || RUNS[backend].calls);
    const differs = ({ given, run }: Drawn): string | undefined =>
      difference(
        outcomeOf(() => run("js")),
        outcomeOf(() => run(backend)),
        tolerance,
        scaleOf(given),
      );

    test.each(Object.entries(CALLS))("%s", (name, make) => {
      for (let seed = first; seed < first + calls; ++seed) {
        const drawn = fresh(seed);
        if (differs(make(drawn)) === undefined) continue;
        const choices = shrink(drawn.choices, (fewer) => differs(make(replay(fewer))) !== undefined);
        const shown = make(replay(choices));
        const given = shown.given.map((one) => inspect(one, { depth: 5, maxArrayLength: 200 })).join(", ");
        throw new Error(`seed ${seed}: ${name}(${given}) on js, on ${backend} at ${differs(shown)}`);
      }
    });
  });
}

test.each(Object.entries(CALLS))("most random calls of %s are answered, not refused", (_, make) => {
  const answered = Array.from({ length: 20 }, (_, k) => outcomeOf(() => make(fresh(k + 1)).run("js"))).filter(
    (outcome) => "result" in outcome,
  );
  expect(answered.length).toBeGreaterThan(10);
});
