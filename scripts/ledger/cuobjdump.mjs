// What cuobjdump says of compiled code: instructions, and what ptxas gave each kernel.

import { existsSync, readFileSync } from "node:fs";
import { demangle, parsePtxas } from "../cuda-resources.mjs";
import { attempt, run } from "../build/run.mjs";
import { findTool } from "../build/tools.mjs";
import { readSass } from "./sass.mjs";

/** Toolkits have it, and so has an installed Triton. */
const IN_TRITON = `import importlib.util, os
spec = importlib.util.find_spec("triton")
if spec: print(os.path.join(spec.submodule_search_locations[0], "backends/nvidia/bin/cuobjdump"))`;

/** Its path: SURPRISAL_CUOBJDUMP, on PATH, or in the Triton of this python3; else undefined. */
export async function findCuobjdump() {
  const named = process.env.SURPRISAL_CUOBJDUMP ?? findTool("cuobjdump");
  if (named) return named;
  const python = findTool("python3");
  const found = python && (await attempt(python, ["-c", IN_TRITON])).stdout?.trim();
  return found && existsSync(found) ? found : undefined;
}

/** Of every kernel of an object, by the name that people read: {code, registers, shared}. What ptxas said lies beside the object. */
export async function readObject(cuobjdump, object, arch) {
  const { stdout } = await run("cuobjdump", cuobjdump, ["-sass", "-arch", arch, object]);
  const code = readSass(stdout);
  const kernels = await demangle(
    parsePtxas(readFileSync(`${object}.ptxas.txt`, "utf8"), object).filter((kernel) => arch.startsWith(kernel.arch)),
  );
  const short = (name) =>
    name
      .replace(/\(anonymous namespace\)::|srp::(cuda::)?/g, "")
      .replace(/^void /, "")
      .replaceAll("> >", ">>");
  return new Map(
    kernels.map(({ name, symbol, registers, sharedMemory }) => [
      short(name),
      { code: code.get(symbol), registers, shared: sharedMemory },
    ]),
  );
}
