// Streams and the memory of a device.
import { deviceBackend } from "../backend/select";
import { homeStream, openStream } from "../backend/streams";
import { type Arena, type ArenaStats, needArena } from "../core/arena";
import type { MemoryStats } from "../core/device-runtime";
import { needNumber } from "../core/option-checks";
import type { Stream } from "../core/stream";
import type { DevicePlace } from "./to-device";

/** Which device is meant. */
export type DeviceChoice = Pick<DevicePlace, "backend" | "device">;

/** A queue of work beside the device's own. Dispose of it when it is no longer needed. */
export function createStream({ backend, device }: DeviceChoice = {}): Stream {
  return openStream("createStream", deviceBackend("createStream", backend, device));
}

/** The device's own stream, which `toDevice` uses. */
export function deviceStream({ backend, device }: DeviceChoice = {}): Stream {
  return homeStream("deviceStream", deviceBackend("deviceStream", backend, device));
}

function runtimeOf(op: string, { backend, device }: DeviceChoice) {
  return homeStream(op, deviceBackend(op, backend, device)).runtime;
}

/** Whose memory is meant: that of a device, or of an arena. */
interface MemoryChoice extends DeviceChoice {
  /** Of `createArena()`. */
  readonly arena?: Arena;
}

/** What arrays of an arena hold. */
export function memoryStats(choice: { readonly arena: Arena }): ArenaStats;
/** What arrays of a device hold, and what is kept for the next ones; of this process. */
export function memoryStats(choice?: DeviceChoice): MemoryStats;
export function memoryStats(choice: MemoryChoice = {}): MemoryStats | ArenaStats {
  const { arena } = choice;
  if (arena !== undefined) return needArena("memoryStats", arena).stats();
  return runtimeOf("memoryStats", choice).memoryStats();
}

/**
 * The most that this process may take of a device's memory, in bytes; what asks for more gets ERR_SURPRISAL_OUT_OF_MEMORY.
 * Infinity takes the limit back.
 */
export function setMemoryLimit(bytes: number, choice: DeviceChoice = {}): void {
  const op = "setMemoryLimit";
  const limit = needNumber(op, "bytes", bytes === Infinity ? 0 : bytes, {
    min: bytes === Infinity ? 0 : 1,
    max: Number.MAX_SAFE_INTEGER,
    integer: true,
  });
  runtimeOf(op, choice).limitMemory(limit);
}

/** Returns memory that is kept for the next arrays to the driver, for others. */
export function trimMemory(choice: DeviceChoice = {}): void {
  runtimeOf("trimMemory", choice).trimMemory();
}
