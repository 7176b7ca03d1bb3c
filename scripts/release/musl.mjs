// g++ with the headers and the C library of musl, as Debian's musl-dev brings them, and GCC's own C++ library, linked statically.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../build/run.mjs";
import { symbolsOf } from "./elf.mjs";

const HOME = "/usr/lib/x86_64-linux-musl";
const HEADERS = "/usr/include/x86_64-linux-musl";

export const hasMusl = () => existsSync(join(HOME, "musl-gcc.specs"));

// GCC's headers were configured for glibc: what they may use of it that musl does not have.
const CONFIGURED = `
#include <locale.h>
#define __locale_t locale_t
#define __GLIBC_PREREQ(major, minor) 0
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
`;

// GCC's C++ library was built for glibc: what it asks of that one. It finds the tables of exceptions in another way then.
const LACKING = `
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
__attribute__((visibility("hidden"))) int _dl_find_object(void *address, void *found) { return -1; }
`;

/** Where the compiler has the headers of its C++ library. */
async function cxxHeaders(compiler) {
  const { stderr } = await run("the compiler", compiler, ["-v", "-E", "-x", "c++", "/dev/null"]);
  return stderr.split("\n").map((line) => line.trim()).filter((line) => line.startsWith("/") && /\/c\+\+\/\d+$/.test(line)); // oxfmt-ignore
}

/** The compiler as a script, since make takes one word, and what to link with it. */
export async function muslCompiler(compiler, folder) {
  mkdirSync(folder, { recursive: true });
  const files = ["musl-g++", "configured.h", "lacking.c", "lacking.o"].map((name) => join(folder, name));
  const [script, configured, source, object] = files;
  const headers = [...(await cxxHeaders(compiler)), HEADERS].map((path) => `-isystem ${path}`).join(" ");
  const flags = `-specs ${HOME}/musl-gcc.specs ${headers} -include ${configured}`;
  writeFileSync(script, `#!/bin/sh\nexec ${compiler} ${flags} "$@"\n`);
  chmodSync(script, 0o755);
  writeFileSync(configured, CONFIGURED);
  writeFileSync(source, LACKING);
  await run("what musl lacks", compiler, ["-c", "-fPIC", "-x", "c", source, "-o", object]);
  return { script, link: `${object} -static-libgcc` };
}

/** Refuses an addon that asks for what musl and Node do not have, or that has no musl to load. */
export async function needMusl(file) {
  const offered = (await symbolsOf(join(HOME, "libc.so"))).filter(({ needed }) => !needed).map(({ name }) => name);
  const known = new Set(offered);
  const lacking = (await symbolsOf(file)).filter(
    ({ name, needed, weak }) => needed && !weak && !name.startsWith("napi_") && !known.has(name),
  );
  if (lacking.length > 0) {
    throw new Error(`${file} asks for what musl lacks: ${lacking.map(({ name }) => name).join(", ")}`);
  }
}
