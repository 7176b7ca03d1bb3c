// What holds the processes of programs: levels of the system, orphans, processor time, and the page that promises it all.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type OutputQuestion, sameOutput } from "../../lib/reward/code/compare-output";
import { FrameReader, frame } from "../../lib/reward/code/frames";
import { SYSTEM_SANDBOXES } from "../../lib/reward/code/protocol";
import { systemHas } from "../../lib/reward/code/system-sandbox";
import { built } from "../support/built-reward";
import { distFile } from "../support/dist";
import { JAVASCRIPT } from "./attacks/javascript";
import { PATCHES } from "./attacks/python-patches";
import { VALUES } from "./attacks/python-values";

const LONG = 240_000;

test("every attack stands on the page", () => {
  const page = readFileSync(join(__dirname, "..", "..", "docs", "reward", "security.md"), "utf8");
  const attacks = [...VALUES, ...PATCHES, ...JAVASCRIPT];
  expect(attacks.map(({ name }) => name).filter((name) => !page.includes(`| ${name} |`))).toEqual([]);
  expect(attacks.length).toBeGreaterThan(80);
});

test.each(SYSTEM_SANDBOXES)(
  "programs run within %s, or it is refused",
  async (system) => {
    const sandbox = built.createCodeSandbox({ workers: 1, system });
    const tests = { language: "javascript", assertions: "assert.equal(f(1), 2)" } as const;
    const call = built.codeReward(["const f = (x) => x + 1"], tests, { sandbox });
    if (await systemHas(system)) expect(await call).toMatchObject([{ reward: 1 }]);
    else await expect(call).rejects.toMatchObject({ code: "ERR_SURPRISAL_SANDBOX" });
    await sandbox.dispose();
  },
  LONG,
);

/** Processes by their command, on systems that list them as files. */
const processes = (wanted: (command: string) => boolean): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return wanted(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
      } catch {
        return false;
      }
    })
    .map(Number);

const noProcesses = existsSync("/proc/self/cmdline")
  ? ""
  : " (skipped: this system has no /proc to look for processes)";

(noProcesses ? test.skip : test)(
  `a killed owner leaves no process, not even one that is busy${noProcesses}`,
  async () => {
    // The limit is this owner's mark in the command lines of its processes.
    const program = `
const { codeReward, createCodeSandbox } = require(${JSON.stringify(distFile("reward"))});
const sandbox = createCodeSandbox({ workers: 1, outputLimit: 654321, timeLimit: 600000 });
codeReward(["while (true) {}"], { language: "javascript", io: [{ input: "", output: "" }] }, { sandbox });
setInterval(() => process.stdout.write("."), 100);`;
    const mine = (): number => processes((command) => command.includes('"outputBytes":654321')).length;
    const owner = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
    while (mine() < 2) await once(owner.stdout, "data");
    owner.kill("SIGKILL");
    await once(owner, "exit");
    while (mine() > 0) await new Promise((wake) => setImmediate(wake));
    expect(mine()).toBe(0);
  },
  LONG,
);

(noProcesses ? test.skip : test)(
  `the processes of programs have nothing of their owner's environment${noProcesses}`,
  async () => {
    const sandbox = built.createCodeSandbox({ workers: 1, outputLimit: 543210 });
    const tests = { language: "javascript", assertions: "assert.equal(f(1), 2)" } as const;
    expect(await built.codeReward(["const f = (x) => x + 1"], tests, { sandbox })).toMatchObject([{ reward: 1 }]);
    // One waits for the next program; the one that ran this may be ending.
    const environmentOf = (pid: number): string[][] => {
      try {
        return [readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")];
      } catch {
        return [];
      }
    };
    let environments: string[][] = [];
    while (environments.length === 0) {
      await new Promise((turn) => setImmediate(turn));
      environments = processes((command) => command.includes('"outputBytes":543210')).flatMap(environmentOf);
    }
    await sandbox.dispose();
    // bubblewrap sets PWD.
    expect(environments.flat().filter((one) => one !== "" && !one.startsWith("PWD="))).toEqual([]);
  },
  LONG,
);

(noProcesses ? test.skip : test)(
  `a program that does not get to run is not late${noProcesses}`,
  async () => {
    const sandbox = built.createCodeSandbox({ workers: 1, outputLimit: 765432, timeLimit: 2000 });
    const tests = { language: "javascript", io: [{ input: "", output: "1" }] } as const;
    const judge = () => built.codeReward(["console.log(1)"], tests, { sandbox });
    expect(await judge()).toMatchObject([{ reward: 1 }]);
    const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
      for (const pid of processes((command) => command.includes('"outputBytes":765432'))) process.kill(pid, name);
    };
    // For longer than its limit, the process has none of the processor.
    signal("SIGSTOP");
    const judged = judge();
    await new Promise((wake) => setTimeout(wake, 3000));
    signal("SIGCONT");
    expect(await judged).toMatchObject([{ reward: 1 }]);
    await sandbox.dispose();
  },
  LONG,
);

test("comparing outputs is linear in them", () => {
  const blanks = `${" ".repeat(100_000)}x\n`.repeat(2);
  const question = (printed: string, wanted: string, comparison: OutputQuestion["comparison"]): boolean =>
    sameOutput({ printed: Buffer.from(printed), wanted, comparison, tolerance: 0 });
  // With steps that grow with the square these would not end.
  for (const comparison of ["lines", "exact", "tokens"] as const)
    expect(question(blanks, blanks, comparison)).toBe(true);
  const lines = "a \t\r\n".repeat(500_000);
  expect(question(lines, "a\n".repeat(500_000), "lines")).toBe(true);
  expect(question(`${lines}\n\n`, `${"a\n".repeat(500_000)}b`, "lines")).toBe(false);
  expect(question(" a", "a", "lines")).toBe(false);
});

test("messages are read however they are cut, and long ones not at all", () => {
  const messages = [Buffer.from("one"), Buffer.alloc(0), Buffer.from("three".repeat(100))];
  const bytes = Buffer.concat(messages.map((message, kind) => frame(kind, message)));
  for (const step of [1, 3, 7, bytes.length]) {
    const got: string[] = [];
    const reader = new FrameReader(1000, (kind, payload) => got.push(`${kind} ${Buffer.from(payload).toString()}`));
    for (let at = 0; at < bytes.length; at += step) expect(reader.push(bytes.subarray(at, at + step))).toBe(true);
    expect(got).toEqual(messages.map((message, kind) => `${kind} ${message.toString()}`));
  }
  expect(new FrameReader(10, () => undefined).push(frame(5, new Uint8Array(11)))).toBe(false);
});
