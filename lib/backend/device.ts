// The device side of a backend that has one: its memory and streams, bound to one queue.
import type { DeviceRuntime } from "../core/device-runtime";
import type { Backend } from "./backend";

export type {
  DeviceHandle,
  DeviceRuntime,
  EventHandle,
  ExportedMemory,
  GraphHandle,
  MemoryStats,
} from "../core/device-runtime";

/** What a backend with memory of its own offers beside its ops. */
export interface BackendDevice extends DeviceRuntime {
  /** The same backend on the same device with a queue of its own: its ops and its `device` are those of that queue. */
  openStream(): Backend;
}
