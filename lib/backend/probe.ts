// Which backends can run here, and why not the others. Each is opened once, on first need, never at import.
import { findLibrary, nativeAddon, type NativeDescription, openLibrary } from "./addon";
import type { Backend, BackendName } from "./backend";
import { jsBackend } from "./js";
import { deviceBackend, hostBackend } from "./native";
import { engine } from "./platform";
import { processState } from "./process-state";
import { useThreads } from "./threads";
import { wasmBackend } from "./wasm";
import { wasmModule } from "./wasm/module";

/** One backend as `backendInfo()` and `surprisal doctor` list it. */
export interface BackendStatus {
  readonly name: BackendName;
  readonly available: boolean;
  /** Why it cannot run here. Absent when it can. */
  readonly reason?: string;
  /** Name of the device, or the instruction set. */
  readonly device?: string;
  /** The library file. */
  readonly file?: string;
  /** CUDA driver, "13.0"; absent without one. */
  readonly driver?: string;
  /** CUDA runtime that the library carries, "13.0". */
  readonly runtime?: string;
  /** Compute capability, "9.0". */
  readonly computeCapability?: string;
  readonly memoryBytes?: number;
}

export interface Probe {
  readonly status: BackendStatus;
  readonly backend?: Backend;
}

function cudaVersion(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

function describe(name: BackendName, description: NativeDescription, file?: string): BackendStatus {
  return {
    name,
    available: description.available,
    reason: description.available ? undefined : description.reason,
    device: description.device || undefined,
    file,
    driver: description.driverVersion > 0 ? cudaVersion(description.driverVersion) : undefined,
    runtime: description.runtimeVersion > 0 ? cudaVersion(description.runtimeVersion) : undefined,
    computeCapability:
      description.computeMajor > 0 ? `${description.computeMajor}.${description.computeMinor}` : undefined,
    memoryBytes: description.memoryBytes > 0 ? description.memoryBytes : undefined,
  };
}

function unavailable(name: BackendName, reason: string, file?: string): Probe {
  return { status: { name, available: false, reason, file } };
}

function probeCpu(): Probe {
  const native = nativeAddon();
  if ("reason" in native) return unavailable("cpu", native.reason);
  useThreads(native.addon);
  const session = native.addon.openCpu();
  const description = native.addon.describe(session)!;
  return { status: describe("cpu", description), backend: hostBackend("cpu", native.addon, session) };
}

function probeWasm(): Probe {
  const found = wasmModule();
  if ("reason" in found) return unavailable("wasm", found.reason, found.file);
  const status = { name: "wasm", available: true, device: found.first.level, file: found.file } as const;
  return { status, backend: wasmBackend(found) };
}

function probeLibrary(name: "cuda" | "emulated", device: number): Probe {
  const native = nativeAddon();
  if ("reason" in native) return unavailable(name, native.reason);
  const file = findLibrary(name);
  if (file === undefined) {
    const next =
      name === "cuda" ? "; the package surprisal-cuda brings it, `npx surprisal build --cuda` builds it" : "";
    return unavailable(name, `libsurprisal_${name}.so is not here${next}`);
  }
  const session = openLibrary(native.addon, file, device);
  if (typeof session === "string") return unavailable(name, session, file);
  const status = describe(name, native.addon.describe(session)!, file);
  return status.available ? { status, backend: deviceBackend(name, native.addon, session, device) } : { status };
}

const probes = processState("probes", new Map<string, Probe>());

/** Looks again for a backend that could not run. */
export function probeAgain(name: "wasm"): void {
  if (!probes.get(name)?.backend) probes.delete(name);
}

/** Opens a backend, or returns the reason why it cannot be opened. The result does not change within a process. */
export function probe(name: BackendName, device: number): Probe {
  const onDevice = name === "cuda" || name === "emulated";
  const key = onDevice ? `${name}:${device}` : name;
  let found = probes.get(key);
  if (!found) {
    if (name === "js") found = { status: { name, available: true, device: engine() }, backend: jsBackend };
    else if (name === "cpu") found = probeCpu();
    else if (name === "wasm") found = probeWasm();
    else found = probeLibrary(name, device);
    probes.set(key, found);
  }
  return found;
}
