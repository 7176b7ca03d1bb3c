// Installs what tests run the package on or bundle it with, beside the Node at work, into build-nodes/: the other Node lines that it is
// held to, Bun, Deno, Vite and webpack. All come from npm.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { at } from "./build/paths.mjs";

const { node, programs, bundlers } = JSON.parse(readFileSync(at("test/support/runtimes.json"), "utf8"));
const system = `${process.platform}-${process.arch}`;

/** Title, folder, packages, and the files of which one is there when they are. */
const wanted = [
  ...node
    .filter((line) => !process.versions.node.startsWith(`${line}.`))
    .map((line) => {
      const name = `node-${system}`;
      // node.exe stands at the root of some packages for Windows.
      const files = ["bin/node", "bin/node.exe", "node.exe"].map((file) => `${name}/${file}`);
      return [`node ${line}`, line, [`${name}@${line}`], files];
    }),
  ...Object.entries(programs).map(([name, { version, packages }]) => {
    const [found, file] = packages[system] ?? [];
    return [name, name, found === undefined ? [] : [`${found}@${version}`], [`${found}/${file}`]];
  }),
  ...Object.entries(bundlers).map(([name, { packages, file }]) => [name, name, packages, [file]]),
];

let failed = 0;
for (const [title, folder, packages, files] of wanted) {
  if (packages.length === 0) {
    console.log(`${title}: skipped, npm has none for ${system}`);
    continue;
  }
  const place = at(`build-nodes/${folder}`);
  if (files.some((file) => existsSync(`${place}/node_modules/${file}`))) continue;
  // Without a network it gives up at once.
  const options = ["--no-save", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "0"];
  const { status } = spawnSync("npm", ["install", "--prefix", place, ...options, ...packages], { stdio: "inherit" });
  console.log(`${title}: ${status === 0 ? "installed" : "skipped, npm could not install it"}`);
  failed += status === 0 ? 0 : 1;
}
process.exit(failed === 0 ? 0 : 1);
