// The Python side of the GPU bundle has the structs of the headers: a C compiler has to agree on every size and offset.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";

const root = path.join(__dirname, "..", "..");
const headers = path.join(root, "native", "include", "surprisal");
const python = ["/usr/bin/python3", "python3"].find((name) => spawnSync(name, ["--version"]).status === 0);
const compiler = spawnSync("gcc", ["--version"]).status === 0;

/** One line a struct: name, size, then field:offset:size. */
const LIST = `
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import abi
contracts = abi.Contracts()
for name, struct in sorted(contracts.structs.items()):
    print(name, ctypes.sizeof(struct), *("%s:%d:%d" % (field, getattr(struct, field).offset, getattr(struct, field).size) for field, _ in struct._fields_))
print("constants", *("%s=%d" % pair for pair in sorted(contracts.constants.items())))
print("ops", *contracts.ops)
`;

const why = !python ? " (skipped: no python3)" : !compiler ? " (skipped: no C compiler)" : "";
(why ? describe.skip : describe)(`the C ABI as Python reads it${why}`, () => {
  let lines: string[][];
  beforeAll(() => {
    const listed = execFileSync(python!, ["-c", LIST, path.join(root, "bench", "gpu", "python")], {
      encoding: "utf8",
    });
    lines = listed
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
  });

  test("sizes, offsets and enumerators are the compiler's", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "surprisal-structs-"));
    try {
      const ops = new Set(lines.find(([name]) => name === "ops"));
      const typeOf = (name: string): string => (ops.has(name) ? `srp_${name}_args` : `srp_${name}`);
      const checks = lines
        .filter(([name]) => name !== "constants" && name !== "ops")
        .flatMap(([name, size, ...fields]) => [
          `_Static_assert(sizeof(${typeOf(name!)}) == ${size}, "${name}");`,
          ...fields
            .map((text) => text.split(":"))
            .map(
              ([field, offset]) =>
                `_Static_assert(offsetof(${typeOf(name!)}, ${field}) == ${offset}, "${name}.${field}");`,
            ),
        ]);
      const constants = lines.find(([name]) => name === "constants")!.slice(1);
      const enums = constants
        .map((text) => text.split("="))
        .map(([name, value]) => `_Static_assert(${name} == ${value}, "${name}");`);
      expect(checks.length).toBeGreaterThan(500);
      expect(enums.length).toBeGreaterThan(100);
      const file = path.join(folder, "structs.c");
      writeFileSync(file, ['#include "surprisal/backend.h"', ...checks, ...enums, ""].join("\n"));
      const { status, stderr } = spawnSync("gcc", ["-std=c11", "-fsyntax-only", "-I", path.dirname(headers), file], {
        encoding: "utf8",
      });
      expect(stderr).toBe("");
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("every op of the table has its struct", () => {
    const ops = lines.find(([name]) => name === "ops")!.slice(1);
    const structs = new Set(lines.map(([name]) => name));
    expect(ops.length).toBeGreaterThan(40);
    expect(ops.filter((op) => !structs.has(op))).toEqual([]);
  });
});
