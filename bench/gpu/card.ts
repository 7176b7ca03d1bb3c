// What a result says about the machine that it was taken on: the card, its driver, versions. No name of a host.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { backendInfo, configure } from "../../lib";
import { processorOf } from "../harness/machine";

const { values } = parseArgs({
  options: {
    backend: { type: "string" },
    device: { type: "string", default: "0" },
    bundle: { type: "string" },
    out: { type: "string" },
  },
});

/** What the driver's own tool says of the device, or nothing where there is none. */
function fromDriver(device: number): Readonly<Record<string, string>> {
  const fields = [
    "name",
    "driver_version",
    "memory.total",
    "clocks.max.sm",
    "clocks.max.mem",
    "clocks.sm",
    "power.limit",
    "ecc.mode.current",
    "mig.mode.current",
  ];
  const { status, stdout } = spawnSync(
    "nvidia-smi",
    [`--query-gpu=${fields.join(",")}`, "--format=csv,noheader", "-i", String(device)],
    { encoding: "utf8" },
  );
  if (status !== 0) return {};
  return Object.fromEntries(
    stdout
      .trim()
      .split(", ")
      .map((value, i) => [fields[i]!, value]),
  );
}

const device = Number(values.device);
configure({ device });
const status = backendInfo().backends.find(({ name }) => name === values.backend);
if (!status || values.out === undefined || values.bundle === undefined) {
  console.error("card: --backend NAME --bundle FILE --out FILE are needed");
  process.exit(2);
}
const bundle = JSON.parse(readFileSync(values.bundle, "utf8")) as { commit: string; version: string };
const card = {
  date: new Date().toISOString(),
  commit: bundle.commit,
  machine: status.device ?? "no device",
  cores: cpus().length,
  caches: "",
  pages: "",
  pinned: false,
  roofs: "",
  versions: {
    node: process.versions.node,
    surprisal: bundle.version,
    ...(status.driver && { driver: status.driver }),
    ...(status.runtime && { "CUDA runtime": status.runtime }),
  },
  host: processorOf(readFileSync("/proc/cpuinfo", "utf8"), cpus()[0]?.model ?? "unknown"),
  computeCapability: status.computeCapability ?? "",
  memoryBytes: status.memoryBytes ?? 0,
  driver: fromDriver(device),
};
writeFileSync(values.out, `${JSON.stringify(card, null, 1)}\n`);
console.log(JSON.stringify(card, null, 1));
console.log(`${card.machine}${card.computeCapability === "" ? "" : `, compute capability ${card.computeCapability}`}`);
if (!status.available) {
  console.log(`${status.name} cannot run here: ${status.reason}`);
  process.exitCode = 1;
}
