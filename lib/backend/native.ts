// A native backend seen from TypeScript: one generic call, since the addon tells the fields of every op.
import { type ErrorCode, SurprisalError } from "../core/errors";
import type { Addon } from "./addon";
import type { Backend, BackendName, BackendOps, OpArgs, OpName } from "./backend";

// native/include/surprisal/status.h; 9, stopped, comes with an aborted signal only, whose reason it then is.
const STATUS_CODES: Readonly<Record<number, ErrorCode>> = {
  1: "ERR_SURPRISAL_OPTION",
  2: "ERR_SURPRISAL_SHAPE",
  3: "ERR_SURPRISAL_DTYPE",
  4: "ERR_SURPRISAL_RANGE",
  5: "ERR_SURPRISAL_OUT_OF_MEMORY",
  6: "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
  7: "ERR_SURPRISAL_DEVICE",
  8: "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
};

function nativeError(backend: BackendName, op: string, status: number, text: string): SurprisalError {
  const code = STATUS_CODES[status] ?? "ERR_SURPRISAL_DEVICE";
  return new SurprisalError(code, `${text} (${backend} backend)`, { op, reason: text });
}

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

/** The ops of an open session. `inHostMemory`: its calls end early when their signal aborts. */
export function nativeBackend(name: BackendName, addon: Addon, session: number, inHostMemory: boolean): Backend {
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
    stops: inHostMemory,
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
