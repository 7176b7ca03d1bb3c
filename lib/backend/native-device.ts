// The device side of a native backend: what the addon offers for one session, with statuses thrown as errors.
import { requireFixedSize } from "../core/async";
import { SurprisalError } from "../core/errors";
import type { Addon, NativeFailure } from "./addon";
import type { Backend, BackendDevice } from "./backend";
import { nativeError } from "./native-error";

/** A session of the addon, with the work of one queue. `open` makes a backend of another session. */
export function nativeDevice(
  backend: "cuda" | "emulated",
  device: number,
  addon: Addon,
  session: number,
  open: (session: number) => Backend,
): BackendDevice {
  const failed = (op: string, status: number, text: string) => nativeError(backend, op, status, `${op}: ${text}`);
  const fail = (op: string, status: number): never => {
    throw failed(op, status, addon.lastError());
  };
  const check = (op: string, status: number): void => {
    if (status !== 0) fail(op, status);
  };
  const need = <Value>(op: string, value: Value | number): Value =>
    typeof value === "number" ? fail(op, value) : value;
  const settled = async (op: string, answer: Promise<NativeFailure | null> | number): Promise<void> => {
    const failure = typeof answer === "number" ? fail(op, answer) : await answer;
    if (failure) throw failed(op, failure.status, failure.error);
  };

  return {
    backend,
    device,
    session,

    alloc: (bytes, dtype, shared) => need("toDevice", addon.deviceAlloc(session, bytes, dtype, shared)),
    view: (handle, byteOffset, bytes, dtype) => need("view", addon.deviceView(handle, byteOffset, bytes, dtype)),
    release: (handle) => addon.deviceRelease(handle),
    write: (handle, from) => check("write", addon.deviceWrite(session, handle, from)),
    read: (handle, to) => check("read", addon.deviceRead(session, handle, to)),
    async readAsync(handle, to) {
      requireFixedSize("readAsync", { out: to });
      await settled("readAsync", addon.deviceReadAsync(session, handle, to));
    },
    copy: (to, from) => check("copyFrom", addon.deviceCopy(session, to, from)),

    sync: () => check("sync", addon.streamSync(session)),
    syncAsync: () => settled("syncAsync", addon.streamSyncAsync(session)),
    done: () => addon.streamDone(session),
    close: () => addon.closeStream(session),
    openStream() {
      const opened = addon.openStream(session);
      if (typeof opened === "number") return open(opened);
      check("createStream", addon.streamSync(session)); // where it is the device that failed, its code
      throw new SurprisalError("ERR_SURPRISAL_DEVICE", `createStream: ${opened} (${backend} backend)`, {
        op: "createStream",
        reason: opened,
      });
    },

    recordEvent: () => need("record", addon.eventRecord(session)),
    waitEvent: (event) => check("wait", addon.eventWait(session, event)),
    syncEvent: (event) => check("sync", addon.eventSync(event)),
    eventDone: (event) => addon.eventDone(event),
    eventElapsed(from, to) {
      const milliseconds = addon.eventElapsed(from, to);
      return Number.isNaN(milliseconds) ? fail("since", 1) : milliseconds;
    },

    beginCapture: () => check("capture", addon.captureBegin(session)),
    endCapture: () => need("capture", addon.captureEnd(session)),
    launch: (graph) => check("launch", addon.graphLaunch(session, graph)),
    releaseGraph: (graph) => addon.graphRelease(graph),

    memoryStats: () => need("memoryStats", addon.memoryStats(session)),
    limitMemory: (bytes) => check("setMemoryLimit", addon.memoryLimit(session, bytes)),
    trimMemory: () => check("trimMemory", addon.memoryTrim(session)),

    exportMemory: (handle) => need("toIpcHandle", addon.ipcExport(session, handle)),
    openMemory: ({ handle, byteOffset }, bytes, dtype) =>
      need("fromIpcHandle", addon.ipcOpen(session, handle, byteOffset, bytes, dtype)),
    fromPointer: (pointer, bytes, dtype) => need("fromPointer", addon.fromPointer(session, pointer, bytes, dtype)),
    pointerOf: (handle) => need("pointer", addon.pointerOf(handle)),
  };
}
