// DeviceArrays as arguments of ops. Behind its checks an op treats one as the typed array that it stands for: it looks at the
// length and hands it on to a backend, and never at an element. Ops that would are not listed in device-ops.ts, and refuse.
import type { DeviceArray } from "./device-array";
import { deviceRefusal } from "./device-ops";
import type { DType } from "./dtype";
import { dtypeError, SurprisalError } from "./errors";

const names = new WeakMap<object, { readonly op: string; readonly name: string }>();

/** Refuses an array that lies on a device, for an op that computes on the host. */
export function refuseDevice(op: string, name: string): SurprisalError {
  const { reason, instead } = deviceRefusal(op);
  const message = `${op}: ${name} is a DeviceArray, which ${op} does not take: ${reason}; ${instead}`;
  return new SurprisalError("ERR_SURPRISAL_DTYPE", message, {
    op,
    name,
    got: "a DeviceArray",
    want: "an array in host memory",
    reason,
  });
}

/** A DeviceArray of one of these types that is not disposed of. The caller checks its length. */
export function needDevice(op: string, name: string, array: DeviceArray, dtypes: readonly DType[]): void {
  if (deviceRefusal(op).refused) throw refuseDevice(op, name);
  if (!dtypes.includes(array.dtype))
    throw dtypeError(op, name, array, dtypes.join(" or "), "toDevice(array, {dtype}) converts");
  array.handle(op, name); // refuses what is disposed of
  names.set(array, { op, name });
}

/** A float32 array of a device among float64 ones: the host would convert it. */
export function refuseWidening(array: object): SurprisalError {
  const { op = "the op", name = "an array" } = names.get(array) ?? {};
  const message = `${op}: ${name} is float32 among float64 arrays, and on a device nothing is converted; give all of them one type, toDevice(array, {dtype})`;
  return new SurprisalError("ERR_SURPRISAL_DTYPE", message, {
    op,
    name,
    got: "float32",
    want: "float64, as the others",
  });
}
