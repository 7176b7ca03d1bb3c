// The backend libraries are usable without Node: a C program opens each and drives it through the table.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { nativeAddon } from "../../lib/backend/addon";

const root = path.join(__dirname, "..", "..");
const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;
const LIBRARIES = ["emulated", "cuda"].map((name) => path.join(root, `build-${name}`, `libsurprisal_${name}.so`));

const headers = path.join(root, "native", "include");
const FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", headers];

const why = hasCompiler ? "" : " (skipped: no C compiler)";
(hasCompiler ? describe : describe.skip)(`the C ABI${why}`, () => {
  let folder: string;
  let program: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "surprisal-abi-"));
    program = path.join(folder, "drive");
    execFileSync("gcc", [...FLAGS, path.join(__dirname, "drive.c"), "-o", program, "-ldl"], { stdio: "pipe" });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(readdirSync(path.join(headers, "surprisal")))("%s is a C header that stands alone", (header) => {
    const input = `#include "surprisal/${header}"\n`;
    const { status, stderr } = spawnSync("gcc", [...FLAGS, "-fsyntax-only", "-x", "c", "-"], {
      input,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  const native = nativeAddon();
  if ("reason" in native) test.skip(`no library is opened by the addon (skipped: ${native.reason})`, () => undefined);
  else
    test("the addon refuses a library that was built with another hash of the headers", () => {
      const source = path.join(folder, "other.c");
      const library = path.join(folder, "libother.so");
      writeFileSync(source, "const void* srp_backend_get(unsigned abi) { return abi == 1 ? &abi : 0; }\n");
      execFileSync("gcc", ["-shared", "-fPIC", source, "-o", library], { stdio: "pipe" });
      expect(native.addon.openLibrary(library, 0)).toMatch(/built from different versions of this package/);
    });

  for (const library of LIBRARIES) {
    const name = path.basename(library);
    if (!existsSync(library)) {
      test.skip(`${name} (skipped: it was not built)`, () => undefined);
      continue;
    }
    test(`a C program opens ${name} and gets the numbers of GAE, or a refusal with its reason`, () => {
      const { status, stdout, stderr } = spawnSync(program, [library], { encoding: "utf8" });
      expect(stderr).toBe("");
      if (status === 3) expect(stdout).toMatch(/^unavailable: .*(driver|device)/);
      else expect({ status, stdout }).toEqual({ status: 0, stdout: "ok\n" });
    });
    test(`${name} exports one symbol`, () => {
      // T: functions of the library's own; weak template instances of the standard library are not.
      const symbols = execFileSync("nm", ["-D", "--defined-only", library], { encoding: "utf8" });
      const names = [...symbols.matchAll(/ T (\S+)/g)].map(([, name]) => name!);
      expect(names.filter((symbol) => !symbol.startsWith("srp_emulation_"))).toEqual(["srp_backend_get"]);
    });
  }
});
