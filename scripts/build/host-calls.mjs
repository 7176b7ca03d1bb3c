// Functions of the host that call one of the device. nvcc says nothing of it in a template: it puts `exit(1)` where the function was, and
// the process of whoever calls ends without a word.

import { run } from "./run.mjs";

// What nvcc leaves on the host of a function of the device: a jump over nothing, and that exit.
const STUB_BYTES = 48;
const REGISTERS = "__sti____cudaRegisterAll"; // nvcc's own, at load time

/** Of the text of `objdump -dr`: the functions that hold a call of exit and more than a stub does. */
export function hostCallsIn(disassembly) {
  const found = [];
  for (const part of disassembly.split(/^(?=[0-9a-f]+ <.*>:$)/m)) {
    const name = /^[0-9a-f]+ <(.*)>:$/m.exec(part)?.[1];
    if (!name || name.startsWith(REGISTERS) || !/R_X86_64_PLT32\s+exit\b/.test(part)) continue;
    const offsets = [...part.matchAll(/^\s*([0-9a-f]+):\t/gm)].map(([, offset]) => Number.parseInt(offset, 16));
    if (offsets.at(-1) - offsets[0] > STUB_BYTES) found.push(name);
  }
  return found;
}

/** Of object files, in words. */
export async function hostCalls(objects) {
  const faults = [];
  for (const object of objects) {
    const { stdout } = await run("objdump", "objdump", ["-dr", "-C", "--no-show-raw-insn", object]);
    faults.push(...hostCallsIn(stdout).map((name) => `${name} calls a function of the device on the host\n`));
  }
  return faults;
}
