// The same call gives the same bits: a hundred times over, wherever its arrays lie, and off the event loop. docs/determinism.md says what is promised.
import { createHash } from "node:crypto";

import * as s from "../../lib";
import { backendInfo, type BackendName } from "../../lib";
import { outcomeOf } from "./agree";
import { bitsOfOutcome } from "./bits";
import { CALLS } from "./calls";
import type { Drawn } from "./calling";
import { fresh } from "./draw";

const LONG = process.env["SURPRISAL_LONG"] === "1";

/** How many calls of each op, and how often each. Emulated kernels take a thousand times as long. */
const RUNS = {
  js: { calls: 3, repeats: 100 },
  cpu: { calls: 3, repeats: 100 },
  wasm: { calls: 2, repeats: 100 },
  emulated: LONG ? { calls: 3, repeats: 100 } : { calls: 2, repeats: 4 },
} as const;

type View = Exclude<ArrayBufferView, DataView> & { length: number; set(from: ArrayLike<unknown>): void };

/** The same values, each array so many elements behind where its memory begins. */
function moved(value: unknown, by: number): unknown {
  if (ArrayBuffer.isView(value)) {
    const from = value as View;
    const Type = from.constructor as {
      new (buffer: ArrayBuffer, at: number, length: number): View;
      BYTES_PER_ELEMENT: number;
    };
    const size = Type.BYTES_PER_ELEMENT;
    const to = new Type(new ArrayBuffer((from.length + 2 * by) * size), by * size, from.length);
    to.set(from as unknown as ArrayLike<unknown>);
    return to;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, moved(inner, by)]));
}

function bitsOf({ run, given }: Drawn, backend: BackendName, by = 0): string {
  const args = by === 0 ? given : given.map((arg) => moved(arg, by));
  return createHash("sha256")
    .update(bitsOfOutcome(outcomeOf(() => run(backend, args))))
    .digest("hex");
}

for (const [backend, { calls, repeats }] of Object.entries(RUNS) as [keyof typeof RUNS, (typeof RUNS)["js"]][]) {
  const { available, reason } = backendInfo().backends.find(({ name }) => name === backend)!;
  if (!available) {
    test.skip(`repeats are not compared: ${backend} is not available: ${reason}`, () => undefined);
    continue;
  }
  describe(`on ${backend}, each of ${calls} calls`, () => {
    test.each(Object.entries(CALLS))(`%s: ${repeats} times the same bits, and at odd places too`, (_, make) => {
      for (let seed = 1; seed <= calls; ++seed) {
        const drawn = make(fresh(seed));
        const bits = bitsOf(drawn, backend);
        for (let k = 1; k < repeats; ++k) expect(bitsOf(drawn, backend)).toBe(bits);
        for (const by of [1, 2, 3, 5]) expect(bitsOf(drawn, backend, by)).toBe(bits);
      }
    });
  });
}

type Later = (...args: unknown[]) => Promise<unknown>;

/** Its state comes from another op. */
const NEEDS_STATE = ["logprobBackward", "linearLogprobBackward"];
const asynchronous = Object.entries(CALLS).filter(([name]) => `${name}Async` in s && !NEEDS_STATE.includes(name));

describe.each(
  backendInfo()
    .backends.filter(({ name, available }) => available && name in RUNS)
    .map(({ name }) => name),
)("on %s, the asynchronous call has the bits of the synchronous one", (backend) => {
  test.each(asynchronous)("%s", async (name, make) => {
    const later = (s as unknown as Record<string, Later>)[`${name}Async`]!;
    for (let seed = 1; seed <= 5; ++seed) {
      const { given, run } = make(fresh(seed));
      const now = outcomeOf(() => run(backend));
      const [options] = given.slice(-1) as [object];
      const then = await later(...given.slice(0, -1), { ...options, backend }).then(
        (result) => ({ result }),
        (error: unknown) =>
          outcomeOf(() => {
            throw error;
          }),
      );
      expect(bitsOfOutcome(then)).toEqual(bitsOfOutcome(now));
    }
  });
});
