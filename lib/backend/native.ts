// A native backend seen from TypeScript.
import type { Addon } from "./addon";
import type { Backend, BackendName, BackendOps, OpArgs, OpName } from "./backend";
import { HAND_OVER } from "./contract/ops";
import { nativeDevice } from "./native-device";
import { nativeError } from "./native-error";

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
  return {
    name,
    stops,
    ops: opsOf(name, addon, session),
    async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
      const { stop, release } = stopOf(signal);
      try {
        const answer = HAND_OVER[op](addon.ops[op].callAsync, addon.numbers, session, stop, args);
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

function opsOf(backend: BackendName, addon: Addon, session: number): BackendOps {
  const named = Object.keys(HAND_OVER).map((name) => [name, opOf(backend, addon, session, name as OpName)] as const);
  return Object.fromEntries(named) as unknown as BackendOps; // an entry each of HAND_OVER, which has all
}

function opOf<Op extends OpName>(
  backend: BackendName,
  addon: Addon,
  session: number,
  op: Op,
): (args: OpArgs<Op>) => void {
  const handOver = HAND_OVER[op];
  const { call } = addon.ops[op];
  return (args) => {
    const status = handOver(call, addon.numbers, session, null, args);
    if (status !== 0) throw nativeError(backend, op, status, addon.lastError());
  };
}
