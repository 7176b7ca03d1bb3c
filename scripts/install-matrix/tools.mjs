// The programs that the matrix needs, from npm, each once: build-matrix/tools/<name>. Nothing is installed in the repository.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { at } from "../build/paths.mjs";
import { attempt } from "../build/run.mjs";

export const work = at("build-matrix");

/** The case cannot run on this machine, and why: it stands in the table so. */
export class NotRun extends Error {}

/** The folder of packages from npm, installed without their scripts. */
export async function fromNpm(name, ...packages) {
  const folder = join(work, "tools", name);
  const mark = join(folder, ".installed");
  if (existsSync(mark)) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--force", "--prefix", folder, ...packages];
  const { status, stderr } = await attempt("npm", args, { cwd: folder });
  if (status !== 0)
    throw new NotRun(`npm has no ${packages.join(" ")} for this machine: ${stderr.trim().split("\n").at(-1)}`);
  writeFileSync(mark, "");
  return folder;
}

/** A Node of another version, system or processor: the path of its program. */
export async function nodeOf(major, system = "linux-x64") {
  const name = `node-${system}`;
  const folder = await fromNpm(`${name}-${major}`, `${name}@${major}`);
  const program = join(folder, "node_modules", name, "bin", system.startsWith("win") ? "node.exe" : "node");
  if (!existsSync(program)) throw new NotRun(`${name}@${major} of npm has no program`);
  return program;
}

/** A C++ library that a musl program may load: Debian's, with the few functions of glibc that it asks for. */
const FOR_MUSL = `
#include <stddef.h>
#include <sys/random.h>
#include <time.h>
char __libc_single_threaded = 0;
struct { unsigned features[16]; } __cpu_model;
int __cpu_indicator_init(void) { return 0; }
int _dl_find_object(void* address, void* found) { return -1; }
unsigned arc4random(void) { unsigned number; getrandom(&number, sizeof number, 0); return number; }
size_t __strftime_l(char* text, size_t size, const char* form, const struct tm* time, void* locale) { return strftime(text, size, form, time); }
int __cxa_thread_atexit_impl(void (*end)(void*), void* object, void* library) { return 0; }
`;

/** Bun for musl, run by musl's own loader: { command, args, env }. */
export async function bunOfMusl() {
  const loader = "/lib/ld-musl-x86_64.so.1";
  if (!existsSync(loader)) throw new NotRun("no musl here (Debian's packages musl and musl-dev)");
  const folder = await fromNpm("bun-musl", "@oven/bun-linux-x64-musl@1.4");
  const libraries = join(folder, "lib");
  mkdirSync(libraries, { recursive: true });
  writeFileSync(join(libraries, "glibc.c"), FOR_MUSL);
  const named = (name) => join(libraries, name);
  const steps = [
    [
      "musl-gcc",
      [
        "-shared",
        "-fPIC",
        "-w",
        named("glibc.c"),
        "-o",
        named("ld-linux-x86-64.so.2"),
        "-Wl,-soname,ld-linux-x86-64.so.2",
      ],
    ],
    [
      "sh",
      ["-c", `cp -L "$(g++ -print-file-name=libstdc++.so.6)" "$(g++ -print-file-name=libgcc_s.so.1)" ${libraries}`],
    ],
  ];
  for (const [command, args] of steps) {
    const { status, stderr } = await attempt(command, args);
    if (status !== 0) throw new NotRun(`${command}: ${stderr.trim().split("\n").at(-1)}`);
  }
  const bun = join(folder, "node_modules/@oven/bun-linux-x64-musl/bin/bun");
  return { command: loader, args: [bun], env: { LD_LIBRARY_PATH: libraries, LIBC: "musl" } };
}
