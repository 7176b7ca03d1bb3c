// A copy of the checkout in which mistakes are planted: build-mutants/tree, at the commit that is checked out.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { at } from "../build/paths.mjs";

const tree = at("build-mutants/tree");

/** Brings the copy to this commit and builds what tests need. Returns the commit. */
export async function openTree() {
  const commit = git(at("."), "rev-parse", "HEAD");
  mkdirSync(at("build-mutants"), { recursive: true });
  if (!existsSync(tree)) git(at("."), "clone", "--quiet", "--shared", at("."), tree);
  git(tree, "fetch", "--quiet", "origin");
  git(tree, "reset", "--quiet", "--hard", commit);
  rmSync(join(tree, "node_modules"), { recursive: true, force: true });
  symlinkSync(at("node_modules"), join(tree, "node_modules"));
  // What a deletion leaves without use is still a program.
  writeIn("tsconfig.lib.json", readIn("tsconfig.lib.json").replace(/("noUnused\w+": )true/g, "$1false"));
  const { status, output } = await rebuild(["dist", "addon", "emulated", "wasm", "mpi"]);
  if (status !== 0) throw new Error(`the copy in build-mutants/tree does not build:\n${output}`);
  return commit;
}

export function readIn(path) {
  return readFileSync(join(tree, path), "utf8");
}

export function writeIn(path, text) {
  writeFileSync(join(tree, path), text);
}

export function rebuild(parts) {
  return runIn([join(tree, "scripts/build.mjs"), "--quiet", ...parts], {}, 20 * 60_000);
}

/** Whether lib/ compiles: a second where building dist/ takes a minute. */
export async function compiles() {
  const options = [
    "-p",
    join(tree, "tsconfig.lib.json"),
    "--noEmit",
    "--incremental",
    "--tsBuildInfoFile",
    at("build-mutants/types"),
  ];
  const { status } = await runIn([join(tree, "node_modules/typescript-7/bin/tsc"), ...options], {}, 10 * 60_000);
  return status === 0;
}

/** The first failure ends it: a mutant needs to be noticed once. */
export function jest({ args, environment }, limit) {
  const [options, files] = args.includes("--")
    ? [args.slice(0, args.indexOf("--")), args.slice(args.indexOf("--") + 1)]
    : [[], args];
  const all = [
    join(tree, "node_modules/jest/bin/jest.js"),
    "--bail",
    "--reporters",
    "default",
    ...options,
    "--",
    ...files,
  ];
  return runIn(all, environment, limit);
}

function runIn(args, environment, limit) {
  return new Promise((resolve) => {
    // A group of its own, so that a mutant that never ends is ended with its children.
    const child = spawn(process.execPath, args, { cwd: tree, env: { ...process.env, ...environment }, detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data) => (output = (output + data).slice(-20_000)));
    const endToo = () => {
      process.kill(-child.pid, "SIGKILL");
      process.exit(1);
    };
    const ends = ["SIGINT", "SIGTERM"];
    for (const signal of ends) process.once(signal, endToo);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      process.kill(-child.pid, "SIGKILL");
    }, limit);
    child.on("close", (status) => {
      clearTimeout(timer);
      for (const signal of ends) process.off(signal, endToo);
      resolve({ status: status ?? 1, output, late });
    });
  });
}

function git(cwd, ...args) {
  return execFileSync("git", args, { cwd, encoding: "utf8" }).trim();
}
