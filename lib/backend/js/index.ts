// The JavaScript backend: always there.
import { setImmediate } from "node:timers/promises";

import { requireAttached } from "../../core/async";
import type { Backend, OpArgs, OpName } from "../backend";
import { jsOps } from "./ops";

export const jsBackend: Backend = {
  name: "js",
  stops: false,
  ops: jsOps,
  async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
    await setImmediate();
    signal?.throwIfAborted();
    requireAttached(op, args as unknown as Readonly<Record<string, unknown>>);
    // One op and its own arguments: a union the compiler cannot relate by itself.
    (jsOps[op] as (args: OpArgs<Op>) => void)(args);
  },
};
