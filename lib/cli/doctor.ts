// surprisal doctor: which backends can run here, and why not the others.
import type { BackendStatus } from "../backend/probe";
import { costOf } from "../backend/fallback";
import { type BackendInfo, backendInfo } from "../backend/select";
import type { SystemSandbox } from "../reward";
import { strongestSandbox } from "../reward/code/system-sandbox";
import type { Command } from "./shell/command";
import { EXIT } from "./shell/exit-codes";

const MEANING: Readonly<Record<string, string>> = {
  js: "plain JavaScript",
  wasm: "native code compiled to WebAssembly",
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

const HOLDS: Readonly<Record<SystemSandbox, string>> = {
  bubblewrap: "no network, files, other processes or unusual system calls",
  namespaces:
    "no network; files by Node's permissions; system calls are not filtered. bubblewrap, where it is installed, holds more",
  permissions: "Node's permissions alone. bubblewrap, where it is installed, holds more",
};

function report(info: BackendInfo, sandbox: SystemSandbox): string {
  const lines = info.backends.map((status) => {
    const mark = status.available ? "yes" : "no ";
    const file = status.file === undefined ? "" : `\n${" ".repeat(15)}${status.file}`;
    return `${status.name.padEnd(10)}${mark}  ${facts(status)} (${MEANING[status.name] ?? ""})${file}`;
  });
  const says = info.source === "default" ? "the default" : info.source;
  const asks = [info.requested]
    .flat()
    .map((name) => `"${name}"`)
    .join(", ");
  const native = info.backends.some(({ name, available }) => name === "cpu" && available);
  const wasm = info.backends.some(({ name, available }) => name === "wasm" && available);
  const mend = native ? "" : `"auto" runs ${costOf(wasm ? "wasm" : "js")}: \`npx surprisal build\` builds it\n`;
  const gets = info.selected === undefined ? "cannot run here" : `runs on ${info.selected}`;
  const threads =
    info.threads === undefined
      ? ""
      : `a call on cpu may use ${info.threads} ${info.threads === 1 ? "thread" : "threads"}\n`;
  return `${lines.join("\n")}\n\n${says} asks for ${asks}: a call on host arrays ${gets}\n${mend}${threads}${info.rule}\n\nprograms of codeReward run within ${sandbox}: ${HOLDS[sandbox]}\n`;
}

export const doctor: Command = {
  name: "doctor",
  usage: "[--json]",
  summary: "list every backend with why or why not",
  about: `Lists every backend with why or why not, which one a call gets that names none, and what holds the programs of codeReward.
Exit code 0 when the selected backend can run, 1 when it cannot.`,
  options: {},
  examples: ["surprisal doctor", "SURPRISAL_BACKEND=cuda surprisal doctor --json"],
  files: { least: 0, most: 0, what: "files" },
  async run() {
    const info = backendInfo();
    const sandbox = await strongestSandbox();
    return {
      json: { ...info, sandbox, node: process.versions.node, platform: `${process.platform}-${process.arch}` },
      text: report(info, sandbox),
      exitCode: info.selected === undefined ? EXIT.failed : EXIT.done,
    };
  },
};
