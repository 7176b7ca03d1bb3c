// Lets an addon that is linked here load on older systems: stand-ins for libc and libm, which are linked before the real ones and
// offer each function that has a newer version here by its newest version up to the floor. Objects are compiled as always.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../build/run.mjs";
import { isNewer, symbolsOf } from "./elf.mjs";

/** The functions whose usual version is newer than the floor: their names by the version that an older system has. */
async function olderVersions(library, floor) {
  const offered = (await symbolsOf(library)).filter(({ type, needed, version }) => type === "FUNC" && !needed && version);
  const older = new Map();
  for (const { name } of offered.filter(({ usual, version }) => usual && isNewer(version, floor))) {
    const versions = offered.filter((symbol) => symbol.name === name && !isNewer(symbol.version, floor));
    if (versions.length === 0) continue;
    const { version } = versions.reduce((a, b) => (isNewer(a.version, b.version) ? a : b));
    older.set(version, [...(older.get(version) ?? []), name]);
  }
  return older;
}

/** What to put before the libraries on the command line of a linker. */
export async function floorFlags(compiler, floor, folder) {
  mkdirSync(folder, { recursive: true });
  const files = [];
  for (const soname of ["libc.so.6", "libm.so.6"]) {
    const { stdout } = await run("the compiler", compiler, [`-print-file-name=${soname}`]);
    const older = await olderVersions(stdout.trim(), floor);
    const [source, map, file] = [`${soname}.c`, `${soname}.map`, soname].map((name) => join(folder, name));
    writeFileSync(source, [...older.values()].flat().map((name) => `void ${name}(void) {}\n`).join("")); // prettier-ignore
    writeFileSync(map, [...older].map(([version, names]) => `${version} { global: ${names.join("; ")}; };\n`).join(""));
    const flags = ["-shared", "-nostdlib", "-fPIC", "-fno-builtin", "-w", "-x", "c", source];
    await run(`the stand-in for ${soname}`, compiler, [...flags, `-Wl,-soname,${soname},--version-script,${map}`, "-o", file]);
    files.push(file);
  }
  const own = join(folder, "own.o");
  const source = join(folder, "own.c");
  // Of 2.32, and with no older form: "more threads may run" is right always.
  writeFileSync(source, '__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;\n');
  await run("what old systems lack", compiler, ["-c", "-fPIC", "-x", "c", source, "-o", own]);
  return [own, "-Wl,--no-as-needed", ...files, "-Wl,--as-needed"].join(" ");
}

/** Refuses an addon that asks for more than the floor has. */
export async function needFloor(file, floor) {
  const over = (await symbolsOf(file)).filter(({ needed, version }) => needed && version && isNewer(version, floor));
  if (over.length > 0) {
    const names = over.map(({ name, version }) => `${name} (${version})`).join(", ");
    throw new Error(`${file} asks for more than glibc ${floor} has: ${names}`);
  }
}
