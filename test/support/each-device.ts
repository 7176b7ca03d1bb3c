// Runs a suite on each backend that has memory of its own.
import { backendInfo } from "../../lib";
import { registerBackends } from "./each-backend";

export type DeviceBackendName = "cuda" | "emulated";

export function eachDeviceBackend(suite: (backend: DeviceBackendName) => void): void {
  const backends = backendInfo().backends.filter(({ name }) => name === "cuda" || name === "emulated");
  registerBackends(backends, (name) => suite(name as DeviceBackendName));
}
