// Backends that compute on the calling thread let the event loop turn before a call of theirs that was to run off it.
import { requireAttached } from "../core/async";
import type { Backend, BackendOps, OpArgs, OpName } from "./backend";
import { turnOfLoop } from "./platform";

/** `runAsync` of such a backend: looks at the signal and at the arrays once more when its turn has come. */
export function onThisThread(ops: BackendOps): Backend["runAsync"] {
  return async function runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
    await turnOfLoop();
    signal?.throwIfAborted();
    requireAttached(op, args as unknown as Readonly<Record<string, unknown>>);
    // One op and its own arguments: a union the compiler cannot relate by itself.
    (ops[op] as (args: OpArgs<Op>) => void)(args);
  };
}
