// Arrays that stay on a device, and the order of the work on them: docs/device.md is the guide. Memory that a loop uses again:
// docs/memory.md.
export type { Arena, ArenaOption, ArenaStats } from "../core/arena";
export type { DeviceArray, DeviceFloatArray, ReadOptions } from "../core/device-array";
export type { MemoryStats } from "../core/device-runtime";
export type { DeviceSummary } from "../core/device-summary";
export type { AnyFloatArray, Anywhere, OnDevice, StreamOption } from "../core/on-device";
export type { DeviceEvent, Graph, Stream } from "../core/stream";
export { fromIpcHandle, fromPointer, toIpcHandle, toPointer } from "./sharing";
export type { ForeignOptions, IpcHandle } from "./sharing";
export { createStream, deviceStream, memoryStats, setMemoryLimit, trimMemory } from "./streams";
export type { DeviceChoice } from "./streams";
export { createArena } from "./arena";
export type { ArenaOptions } from "./arena";
export { deviceEmpty, isDeviceArray, toDevice } from "./to-device";
export type { DeviceMemory, DevicePlace, Sendable, ToDeviceOptions } from "./to-device";
