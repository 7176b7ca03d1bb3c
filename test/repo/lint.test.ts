// Lint and its two rules of our own (scripts/lint/rules.mjs): what a planted mistake gives, and that no comment turns a rule off.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { read, repositoryFiles, root } from "./rules/files";

test("no comment turns a rule off", () => {
  const code = repositoryFiles().filter((path) => /\.(ts|mts|js|mjs|cjs)$/.test(path));
  const word = ["lint", "disable"].join("-");
  expect(code.filter((path) => read(path).includes(word))).toEqual([]);
});

test("planted mistakes are named", () => {
  // A checkout of one file: what is written into lib/ itself would be seen by the tests that run beside this one.
  const folder = mkdtempSync(join(tmpdir(), "surprisal-lint-"));
  try {
    for (const name of [".oxlintrc.json", "tsconfig.json", "tsconfig.test.json", "tsconfig.lib.json"])
      copyFileSync(join(root, name), join(folder, name));
    for (const name of ["scripts", "node_modules"]) symlinkSync(join(root, name), join(folder, name));
    mkdirSync(join(folder, "lib"));
    writeFileSync(
      join(folder, "lib", "planted.ts"),
      [
        "export function Bad_name(a: boolean): object {",
        "  return { ...(a && { b: 1 }), ...(a ? { c: 1 } : {}) };",
        "}",
        "export type lower = number;",
        "export const Wrong_name: lower = 1;",
        "Promise.resolve(1).then((one) => one + 1);",
      ].join("\n"),
    );
    const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
    const { stdout, status } = spawnSync(process.execPath, [oxlint, "--format", "unix", "lib"], {
      cwd: folder,
      encoding: "utf8",
    });
    const rules = [...stdout.matchAll(/:(\d+):\d+: .*\[Error\/(.*)\]$/gm)].map(([, line, rule]) => `${line!} ${rule!}`);
    expect(rules.sort()).toEqual([
      "1 surprisal(names)",
      "2 surprisal(conditional-spread)",
      "2 surprisal(conditional-spread)",
      "4 surprisal(names)",
      "5 surprisal(names)",
      "6 typescript(no-floating-promises)",
    ]);
    expect(status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
