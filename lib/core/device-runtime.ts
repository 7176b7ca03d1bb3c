// What a device offers beside the ops: memory, order, figures. Implemented in lib/backend, used by DeviceArray and Stream.
// Every method throws SurprisalError; none but those that say so waits for the device.
import type { DTypeCode } from "./dtype";

declare const HANDLE: unique symbol;
declare const EVENT: unique symbol;
declare const GRAPH: unique symbol;

/** Memory on a device, or a part of it. It goes back when it and every view of it is released or collected. */
export interface DeviceHandle {
  readonly [HANDLE]: true;
}

/** A mark in the work of a queue. */
export interface EventHandle {
  readonly [EVENT]: true;
}

/** Recorded work that can run again. */
export interface GraphHandle {
  readonly [GRAPH]: true;
}

/** Memory of a backend on one device. Bytes, but for the last three, which count. */
export interface MemoryStats {
  /** What arrays hold. */
  readonly inUse: number;
  /** Taken from the device: in use, and kept for the next arrays. */
  readonly reserved: number;
  /** The most that was ever in use. */
  readonly peakInUse: number;
  /** What `reserved` may not exceed; 0 = no limit. */
  readonly limit: number;
  /** Arrays made so far. */
  readonly allocations: number;
  /** Those of them that got memory which was kept. */
  readonly reused: number;
  /** Calls of the driver to get or return memory. */
  readonly driverCalls: number;
}

/** Memory that another process can open. */
export interface ExportedMemory {
  /** 64 bytes. */
  readonly handle: Uint8Array;
  /** Where the array begins in it. */
  readonly byteOffset: number;
}

/** One queue of one device: what is asked of it runs in that order. */
export interface DeviceRuntime {
  readonly backend: "cuda" | "emulated";
  /** Number of the device. */
  readonly device: number;
  /** By which native code knows the queue. */
  readonly session: number;

  alloc(bytes: number, dtype: DTypeCode, shared?: boolean): DeviceHandle;
  view(handle: DeviceHandle, byteOffset: number, bytes: number, dtype: DTypeCode): DeviceHandle;
  /** Once or more; views that are left keep the memory. */
  release(handle: DeviceHandle): void;
  /** Enqueues; the array may change afterwards. */
  write(handle: DeviceHandle, from: ArrayBufferView): void;
  /** Waits, and reports what went wrong on the queue since the last report. */
  read(handle: DeviceHandle, to: ArrayBufferView): void;
  /** The same off the event loop. */
  readAsync(handle: DeviceHandle, to: ArrayBufferView): Promise<void>;
  /** Enqueues a copy between two of the same size. */
  copy(to: DeviceHandle, from: DeviceHandle): void;

  /** Waits, and reports. */
  sync(): void;
  syncAsync(): Promise<void>;
  /** Whether everything asked for has run. */
  done(): boolean;
  /** Gives the queue back; nothing may be asked of it afterwards. */
  close(): void;

  recordEvent(): EventHandle;
  /** What is enqueued from now on runs after the event, of whatever queue. */
  waitEvent(event: EventHandle): void;
  /** Waits on this thread. */
  syncEvent(event: EventHandle): void;
  eventDone(event: EventHandle): boolean;
  /** Milliseconds between two; both must be done. */
  eventElapsed(from: EventHandle, to: EventHandle): number;

  /** From here on work is recorded and does not run. Memory made until endCapture belongs to the graph. */
  beginCapture(): void;
  endCapture(): GraphHandle;
  /** Enqueues the recorded work. */
  launch(graph: GraphHandle): void;
  releaseGraph(graph: GraphHandle): void;

  memoryStats(): MemoryStats;
  /** 0 takes the limit back. */
  limitMemory(bytes: number): void;
  /** Returns to the driver what is kept and not in use. */
  trimMemory(): void;

  exportMemory(handle: DeviceHandle): ExportedMemory;
  openMemory(exported: ExportedMemory, bytes: number, dtype: DTypeCode): DeviceHandle;
  /** Somebody else's memory on this device; it must outlive the handle. */
  fromPointer(pointer: bigint, bytes: number, dtype: DTypeCode): DeviceHandle;
  pointerOf(handle: DeviceHandle): bigint;
}
