// Installs what tests run the package on beside the Node at work, into build-nodes/: the other Node lines that it is held to, Bun and
// Deno. All come from npm, where each of these packages is a program and nothing else.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { at } from "./build/paths.mjs";

const { node, programs } = JSON.parse(readFileSync(at("test/support/runtimes.json"), "utf8"));
const system = `${process.platform}-${process.arch}`;

const wanted = [
  ...node
    .filter((line) => !process.versions.node.startsWith(`${line}.`))
    // node.exe stands at the root of some packages for Windows.
    .map((line) => [`node ${line}`, line, `node-${system}`, line, ["bin/node", "bin/node.exe", "node.exe"]]),
  ...Object.entries(programs).map(([name, { version, packages }]) => {
    const [found, file] = packages[system] ?? [];
    return [name, name, found, version, [file]];
  }),
];

let failed = 0;
for (const [title, folder, name, version, files] of wanted) {
  if (name === undefined) {
    console.log(`${title}: skipped, npm has none for ${system}`);
    continue;
  }
  const place = at(`build-nodes/${folder}`);
  if (files.some((file) => existsSync(`${place}/node_modules/${name}/${file}`))) continue;
  // Without a network it gives up at once.
  const options = ["--no-save", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "0"];
  const { status } = spawnSync("npm", ["install", "--prefix", place, ...options, `${name}@${version}`], {
    stdio: "inherit",
  });
  console.log(`${title}: ${status === 0 ? "installed" : "skipped, npm could not install it"}`);
  failed += status === 0 ? 0 : 1;
}
process.exit(failed === 0 ? 0 : 1);
