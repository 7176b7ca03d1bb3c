// A backend runs one op on memory it is given. It does not validate or allocate, which lib/ops does, nor choose, which
// lib/backend/select.ts does, and nothing here logs. So every backend is as small as its arithmetic.
import type { DeviceRuntime } from "../core/device-runtime";
import type { BackendOps } from "./contract/ops";

export const BACKEND_NAMES = ["js", "wasm", "cpu", "cuda", "emulated"] as const;
/** js: plain TypeScript. wasm: native code compiled to WebAssembly. cpu: native code. cuda: a GPU. emulated: the CUDA kernels run on the host, for tests. */
export type BackendName = (typeof BACKEND_NAMES)[number];
/** A backend by name, or the rule that `backendInfo().rule` states. */
export type BackendChoice = BackendName | "auto";
/** A choice, or names in order of preference: the first that can run here. */
export type BackendPreference = BackendChoice | readonly BackendName[];

export type { BackendOps } from "./contract/ops";
export type OpName = keyof BackendOps;
export type OpArgs<Op extends OpName> = Parameters<BackendOps[Op]>[0];

/** The device side of a backend that has one: its memory and streams, bound to one queue. */
export interface BackendDevice extends DeviceRuntime {
  /** The same backend on the same device with a queue of its own: its ops and its `device` are those of that queue. */
  openStream(): Backend;
}

export interface Backend {
  readonly name: BackendName;
  /**
   * Memory and streams; absent where ops run in host memory. Such a backend takes a DeviceHandle of its device wherever an op
   * takes an array. With one among them all outputs must be handles; host inputs are copied to the device, and the call
   * returns before it has run.
   */
  readonly device?: BackendDevice;
  /** Whether a signal ends `runAsync` in the middle. Where not, a caller cuts long calls into several. */
  readonly stops: boolean;
  /** Runs on the calling thread; the outputs are complete when it returns. Throws SurprisalError, writing nothing. */
  readonly ops: BackendOps;
  /**
   * Runs off the event loop where the backend can; the arrays must stay untouched until it resolves. The js backend can't:
   * it lets the event loop turn once and then runs. Rejects with the signal's reason if that has aborted; outputs are then
   * unspecified.
   */
  runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void>;
}
