// Statuses of native code as errors.
import { type ErrorCode, SurprisalError } from "../core/errors";
import type { BackendName } from "./backend";

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
  10: "ERR_SURPRISAL_DEVICE_LOST",
  11: "ERR_SURPRISAL_VALUE",
};

export function nativeError(backend: BackendName, op: string, status: number, text: string): SurprisalError {
  const code = STATUS_CODES[status] ?? "ERR_SURPRISAL_DEVICE";
  return new SurprisalError(code, `${text} (${backend} backend)`, { op, reason: text });
}
