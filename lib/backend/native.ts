// A native backend seen from TypeScript: one generic call, since the addon tells the fields of every op.
import type { Addon } from "./addon";
import type { Backend, BackendName, BackendOps, OpArgs, OpName } from "./backend";
import { nativeDevice } from "./native-device";
import { nativeError } from "./native-error";

/** Puts the numbers of a call where the addon reads them. */
function writeNumbers(numbers: Float64Array, names: readonly string[], args: Readonly<Record<string, unknown>>): void {
  for (let i = 0; i < names.length; ++i) numbers[i] = args[names[i]!] as number;
}

/** What stands before the arrays of a call, and the arrays in the addon's order. */
function pack(names: readonly string[], args: Readonly<Record<string, unknown>>, ...before: unknown[]): unknown[] {
  for (let i = 0; i < names.length; ++i) before.push(args[names[i]!]);
  return before;
}

/** A number that ends a call on another thread once it is not 0: when the signal aborts. */
function stopOf(signal: AbortSignal | undefined): { readonly stop: Int32Array | null; readonly release: () => void } {
  if (!signal) return { stop: null, release: () => undefined };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const abort = (): void => void Atomics.store(stop, 0, 1);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return { stop, release: () => signal.removeEventListener("abort", abort) };
}

/** The ops of an open session in host memory: its calls end early when their signal aborts. */
export function hostBackend(name: BackendName, addon: Addon, session: number): Backend {
  return withOps(name, addon, session, true);
}

/** The ops of an open session on a device with memory of its own. */
export function deviceBackend(name: "cuda" | "emulated", addon: Addon, session: number, device: number): Backend {
  const open = (opened: number): Backend => deviceBackend(name, addon, opened, device);
  return { ...withOps(name, addon, session, false), device: nativeDevice(name, device, addon, session, open) };
}

function withOps(name: BackendName, addon: Addon, session: number, stops: boolean): Backend {
  const ops: Record<string, (args: object) => void> = {};
  for (const [op, { numbers, arrays, call }] of Object.entries(addon.ops))
    ops[op] = (args) => {
      const fields = args as Readonly<Record<string, unknown>>;
      writeNumbers(addon.numbers, numbers, fields);
      const status = call(...pack(arrays, fields, session));
      if (status !== 0) throw nativeError(name, op, status, addon.lastError());
    };
  return {
    name,
    stops,
    // The addon lists its ops at run time; test/repo holds the list against this type's.
    ops: ops as unknown as BackendOps,
    async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
      const { numbers, arrays, callAsync } = addon.ops[op]!;
      const fields = args as unknown as Readonly<Record<string, unknown>>;
      const { stop, release } = stopOf(signal);
      try {
        writeNumbers(addon.numbers, numbers, fields);
        const answer = callAsync(...pack(arrays, fields, session, stop));
        if (typeof answer === "number") throw nativeError(name, op, answer, addon.lastError());
        const failure = await answer;
        signal?.throwIfAborted();
        if (failure) throw nativeError(name, op, failure.status, failure.error);
      } finally {
        release();
      }
    },
  };
}
