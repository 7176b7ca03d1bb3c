// Lets a library that is linked here load on older systems: stand-ins for libc and libm, which are linked in place of the real ones and
// offer each function by its newest version up to the floor. Objects are compiled as always.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../build/run.mjs";
import { isNewer, symbolsOf } from "./elf.mjs";

// Of 2.32 and 2.30, without older forms. The first says that more threads may run, which is right always. The second waits by the clock of
// the day, as C++ libraries did before it was there: a wait that ends early begins again.
const OWN = `
#include <pthread.h>
#include <time.h>
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN char __libc_single_threaded = 0;
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  struct timespec now, day;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) --day.tv_sec, day.tv_nsec += 1000000000;
  if (day.tv_nsec >= 1000000000) ++day.tv_sec, day.tv_nsec -= 1000000000;
  return pthread_cond_timedwait(condition, mutex, &day);
}
`;

/** What a library offered at the floor: its names by their newest version up to it. */
async function offeredBy(library, floor) {
  const newest = new Map();
  for (const { name, type, needed, version, glibc } of await symbolsOf(library)) {
    if (needed || !glibc || type === "TLS" || isNewer(version, floor)) continue;
    const known = newest.get(name);
    if (!known || isNewer(version, known)) newest.set(name, version);
  }
  const names = new Map();
  for (const [name, version] of newest) names.set(version, [...(names.get(version) ?? []), name]);
  return names;
}

/** What to put before the libraries on the command line of a linker. */
export async function floorFlags(compiler, floor, folder) {
  mkdirSync(folder, { recursive: true });
  const files = [];
  for (const soname of ["libc.so.6", "libm.so.6"]) {
    const { stdout } = await run("the compiler", compiler, [`-print-file-name=${soname}`]);
    const names = await offeredBy(stdout.trim(), floor);
    const [source, map, file] = [`${soname}.c`, `${soname}.map`, soname].map((name) => join(folder, name));
    writeFileSync(source, [...names.values()].flat().map((name) => `void ${name}(void) {}\n`).join("")); // oxfmt-ignore
    writeFileSync(map, [...names].map(([version, own]) => `${version} { global: ${own.join("; ")}; };\n`).join(""));
    const flags = ["-shared", "-nostdlib", "-fPIC", "-fno-builtin", "-w", "-x", "c", source];
    await run(`the stand-in for ${soname}`, compiler, [
      ...flags,
      `-Wl,-soname,${soname},--version-script,${map}`,
      "-o",
      file,
    ]);
    files.push(file);
  }
  const [own, source] = ["own.o", "own.c"].map((name) => join(folder, name));
  writeFileSync(source, OWN);
  await run("what old systems lack", compiler, ["-c", "-O2", "-fPIC", "-x", "c", source, "-o", own]);
  return [own, "-Wl,--no-as-needed", ...files, "-Wl,--as-needed"].join(" ");
}

/** Refuses a library that asks for more than the floor has, or for what no library that it names has. */
export async function needFloor(file, floor) {
  const needed = (await symbolsOf(file)).filter((symbol) => symbol.needed);
  const over = needed.filter(({ glibc, version }) => glibc && isNewer(version, floor));
  const nowhere = needed.filter(({ name, weak, version }) => !weak && !version && !name.startsWith("napi_"));
  const wrong = [...over, ...nowhere];
  if (wrong.length > 0) {
    const names = wrong.map(({ name, version }) => `${name} (${version ?? "in no library"})`).join(", ");
    throw new Error(`${file} asks for more than glibc ${floor} has: ${names}`);
  }
}
