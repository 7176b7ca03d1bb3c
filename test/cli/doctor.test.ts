import { spawnSync } from "node:child_process";
import { distFile } from "../support/dist";

const main = distFile("cli", "main.js");

function surprisal(args: readonly string[], env: Record<string, string> = {}) {
  const clean: NodeJS.ProcessEnv = { ...process.env };
  delete clean["SURPRISAL_BACKEND"];
  return spawnSync(process.execPath, [main, ...args], { encoding: "utf8", env: { ...clean, ...env } });
}

test("doctor lists every backend with yes or the reason", () => {
  const { stdout, status } = surprisal(["doctor"]);
  expect(status).toBe(0);
  for (const name of ["js", "wasm", "cpu", "cuda", "emulated"])
    expect(stdout).toMatch(new RegExp(`^${name} +(yes|no) +\\S`, "m"));
  expect(stdout).toContain("auto: host arrays run on cpu");
});

test("doctor --json is one document with the same facts", () => {
  const { stdout, status } = surprisal(["doctor", "--json"]);
  expect(status).toBe(0);
  const info = JSON.parse(stdout) as { backends: { name: string; available: boolean; reason?: string }[] };
  expect(info.backends.map(({ name }) => name)).toEqual(["js", "wasm", "cpu", "cuda", "emulated"]);
  for (const backend of info.backends) expect(backend.available).toBe(backend.reason === undefined);
});

test("doctor names what holds the programs of codeReward", () => {
  const { sandbox } = JSON.parse(surprisal(["doctor", "--json"]).stdout) as { sandbox: string };
  expect(["bubblewrap", "namespaces", "permissions"]).toContain(sandbox);
  expect(surprisal(["doctor"]).stdout).toContain(`programs of codeReward run within ${sandbox}: `);
});

test("doctor exits 1 when the requested backend cannot run", () => {
  const info = JSON.parse(surprisal(["doctor", "--json"]).stdout) as {
    backends: { name: string; available: boolean }[];
  };
  const cuda = info.backends.find(({ name }) => name === "cuda")!;
  const { stdout, status } = surprisal(["doctor"], { SURPRISAL_BACKEND: "cuda" });
  expect(status).toBe(cuda.available ? 0 : 1);
  expect(stdout).toContain('SURPRISAL_BACKEND asks for "cuda"');
});

test.each([
  ["no command", [], 2, "usage: surprisal COMMAND"],
  ["an unknown option", ["doctor", "--yaml"], 2, "--yaml"],
])("%s: exit code %s", (_, args, code, text) => {
  const { stdout, stderr, status } = surprisal(args);
  expect(status).toBe(code);
  expect(stdout + stderr).toContain(text);
});
