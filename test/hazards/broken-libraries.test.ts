// Native files that are damaged or somebody else's: a reason, never the end of the process. Each case is a process of its own.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backendInfo } from "../../lib";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "..", "..");
const FILES = {
  cpu: join(root, "build/Release/surprisal.node"),
  emulated: join(root, "build-emulated/libsurprisal_emulated.so"),
};
const NAMES = { cpu: "surprisal.node", emulated: "libsurprisal_emulated.so" };

const folder = mkdtempSync(join(tmpdir(), "surprisal-broken-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a process says of a backend whose file is this one, and the numbers that it computes all the same. */
function tried(name: "cpu" | "emulated", title: string, bytes: Buffer) {
  const own = join(folder, `${name} ${title}`);
  mkdirSync(own);
  if (name === "emulated") copyFileSync(FILES.cpu, join(own, NAMES.cpu));
  writeFileSync(join(own, NAMES[name]), bytes);
  const program = `const s = require(${JSON.stringify(distFile())});
    const { available, reason } = s.backendInfo().backends.find((one) => one.name === ${JSON.stringify(name)});
    const { advantages } = s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1 });
    console.log(JSON.stringify({ available, reason, advantages: [...advantages] }));`;
  const env = { ...process.env, SURPRISAL_NATIVE_PATH: own, SURPRISAL_BACKEND: "" };
  const { stdout, status, signal } = spawnSync(process.execPath, ["-e", program], {
    encoding: "utf8",
    env,
    timeout: HANG_MS,
  });
  expect({ status, signal }).toEqual({ status: 0, signal: null });
  const said = JSON.parse(stdout) as { available: boolean; reason: string; advantages: number[] };
  expect(said).toMatchObject({ available: false, advantages: [3, 2] });
  return said.reason;
}

const { backends } = backendInfo();
const here = (name: "cpu" | "emulated"): boolean =>
  process.platform === "linux" && backends.some((backend) => backend.name === name && backend.available);

const those = (["cpu", "emulated"] as const).filter(here);
if (!those.includes("cpu")) test.skip("a damaged addon is not opened: none for Linux here", () => undefined);

for (const name of those)
  describe(name, () => {
    const whole = readFileSync(FILES[name]);

    // A tenth has no tables yet; in half of it segments are missing; at the end only what the loader does not need.
    test.each([0.1, 0.5, 0.95, 0.999])("of which %d is left", (share) => {
      const left = Math.floor(whole.length * share);
      const reason = tried(name, `${share}`, whole.subarray(0, left));
      expect(reason).toContain(`${NAMES[name]} is not whole: ${left} of at least `);
      expect(reason).toContain(name === "cpu" ? "`npx surprisal build` builds it" : "install or build it anew");
    });

    test.each([
      ["nothing", Buffer.alloc(0), /file too short/],
      ["a header that breaks off", whole.subarray(0, 40), /file too short/],
      ["a page of an error", Buffer.from("<html>404 Not Found</html>".repeat(9)), /invalid ELF header/],
    ])("in whose place lies %s", (title, bytes, says) => {
      expect(tried(name, title, bytes)).toMatch(says);
    });
  });

if (!here("emulated"))
  test.skip("damaged libraries are not opened: no emulated backend for Linux here", () => undefined);
else
  test("a sound library of somebody else", () => {
    expect(tried("emulated", "foreign", readFileSync(join(root, "build/Release/surprisal.node")))).toMatch(
      /srp_backend_get/,
    );
  });
