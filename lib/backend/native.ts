// A native backend seen from TypeScript: one generic call, since the addon tells the fields of every op.
import { type ErrorCode, SurprisalError } from "../core/errors";
import type { Addon, NativeOp } from "./addon";
import type { Backend, BackendName, BackendOps, OpArgs, OpName } from "./backend";

// native/include/surprisal/status.h
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

/** (session, ...fields) in the addon's order. */
function pack(session: number, native: NativeOp, args: object): unknown[] {
  const { fields } = native;
  const values = new Array<unknown>(fields.length + 1);
  values[0] = session;
  for (let i = 0; i < fields.length; ++i) values[i + 1] = (args as Readonly<Record<string, unknown>>)[fields[i]!];
  return values;
}

/** The ops of an open session. */
export function nativeBackend(name: BackendName, addon: Addon, session: number): Backend {
  const ops: Record<string, (args: object) => void> = {};
  for (const [op, native] of Object.entries(addon.ops))
    ops[op] = (args) => {
      const status = native.call(...pack(session, native, args));
      if (status !== 0) throw nativeError(name, op, status, addon.lastError());
    };
  return {
    name,
    // The addon lists its ops at run time; test/repo holds the list against this type's.
    ops: ops as unknown as BackendOps,
    async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>): Promise<void> {
      const native = addon.ops[op]!;
      const answer = native.callAsync(...pack(session, native, args));
      if (typeof answer === "number") throw nativeError(name, op, answer, addon.lastError());
      const failure = await answer;
      if (failure) throw nativeError(name, op, failure.status, failure.error);
    },
  };
}
