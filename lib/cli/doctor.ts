// surprisal doctor [--json]: which backends can run here, and why not the others.
import { parseArgs } from "node:util";

import type { BackendStatus } from "../backend/probe";
import { type BackendInfo, backendInfo } from "../backend/select";

const USAGE = `usage: surprisal doctor [--json]

Lists every backend with why or why not, and which one a call gets that names none.
Exit code: 0 when the selected backend can run, 1 when it cannot.

  --json   one JSON document: {requested, source, selected, rule, backends, node, platform}

examples
  surprisal doctor
  SURPRISAL_BACKEND=cuda surprisal doctor --json
`;

const MEANING: Readonly<Record<string, string>> = {
  js: "plain JavaScript",
  cpu: "native code",
  cuda: "a GPU",
  emulated: "CUDA kernels on the host, for tests",
};

function facts(status: BackendStatus): string {
  const gibibytes = status.memoryBytes === undefined ? undefined : `${(status.memoryBytes / 2 ** 30).toFixed(1)} GiB`;
  return [
    status.available ? status.device : status.reason,
    status.computeCapability && `compute capability ${status.computeCapability}`,
    gibibytes,
    status.driver && `driver ${status.driver}`,
    status.runtime && `runtime ${status.runtime}`,
  ]
    .filter(Boolean)
    .join(", ");
}

function report(info: BackendInfo): string {
  const lines = info.backends.map((status) => {
    const mark = status.available ? "yes" : "no ";
    const file = status.file === undefined ? "" : `\n${" ".repeat(15)}${status.file}`;
    return `${status.name.padEnd(10)}${mark}  ${facts(status)} (${MEANING[status.name] ?? ""})${file}`;
  });
  const says = info.source === "default" ? "the default" : info.source;
  const gets = info.selected === undefined ? "cannot run here" : `runs on ${info.selected}`;
  return `${lines.join("\n")}\n\n${says} asks for "${info.requested}": a call on host arrays ${gets}\n${info.rule}\n`;
}

/** Runs the command. */
export function doctor(args: readonly string[]): number {
  let json: boolean;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { json: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    json = values.json;
  } catch (error) {
    process.stderr.write(`surprisal doctor: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  const info = backendInfo();
  const whole = { ...info, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
  process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : report(info));
  return info.selected === undefined ? 1 : 0;
}
