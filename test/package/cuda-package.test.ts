// The CUDA backend as a package of its own: found beside this one, and refused with its reason where it cannot run.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { distFile } from "../support/dist";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "surprisal-cuda-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a program in the folder learns of the backend. */
function status(): { file?: string; reason?: string } {
  const program = `console.log(JSON.stringify(require("surprisal").backendInfo().backends.find(({ name }) => name === "cuda")))`;
  const env = { ...process.env, SURPRISAL_NATIVE_PATH: join(__dirname, "..", "..", "build", "Release") };
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", program], { cwd: folder, encoding: "utf8", env });
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout) as { file?: string; reason?: string };
}

test("it is found when it is installed beside the package, and named where it is not", () => {
  const root = join(distFile("index.js"), "..", "..");
  const installed = join(folder, "node_modules/surprisal");
  for (const path of ["package.json", "dist"]) cpSync(join(root, path), join(installed, path), { recursive: true });
  cpSync(join(root, "node_modules/node-gyp-build"), join(folder, "node_modules/node-gyp-build"), { recursive: true });
  const without = status();
  expect(without.file).toBeUndefined();
  expect(without.reason).toMatch(/the package surprisal-cuda brings it|no native addon/);

  const cuda = join(folder, "node_modules/surprisal-cuda");
  mkdirSync(cuda, { recursive: true });
  writeFileSync(join(cuda, "package.json"), '{ "name": "surprisal-cuda", "version": "0.0.0" }');
  writeFileSync(join(cuda, "libsurprisal_cuda.so"), "no library");
  if (/no native addon/.test(without.reason!)) return;
  const { file, reason } = status();
  expect(file).toBe(join(cuda, "libsurprisal_cuda.so"));
  expect(reason).toMatch(/libsurprisal_cuda\.so/);
});
