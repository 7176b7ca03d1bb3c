// Holds the packed tarball against two linters: publint (do the paths of package.json exist and mean
// what they say) and attw (does TypeScript see the same module as Node, in every resolution mode).

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { at } from "./build/paths.mjs";
import { attempt, run } from "./build/run.mjs";
import { withTarball } from "./pack.mjs";

await withTarball(async ({ tarball, folder }) => {
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  await run("tar", "tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"]);

  const checks = [
    ["publint", at("node_modules/publint/src/cli.js"), ["run", unpacked, "--pack", "false", "--strict"]],
    // The oldest mode of resolution finds no JSON by an export's name; the file is at schema/ for it. The module is no program.
    [
      "attw",
      at("node_modules/@arethetypeswrong/cli/dist/index.js"),
      [tarball, "--no-emoji", "--no-color", "--exclude-entrypoints", "rollout.schema.json", "surprisal.wasm"],
    ],
  ];
  for (const [name, program, args] of checks) {
    const { status, stdout, stderr } = await attempt(process.execPath, [program, ...args]);
    console.log(`${name}: ${status === 0 ? "passed" : "failed"}\n${stdout}${stderr}`.trimEnd());
    if (status !== 0) process.exitCode = 1;
  }
});
