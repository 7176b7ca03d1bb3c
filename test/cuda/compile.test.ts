// The CUDA build, judged without a GPU: every kernel of every source went through ptxas, and none of
// them keeps registers in memory.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Kernel {
  name: string;
  source: string;
  arch: string;
  registers: number;
  spillStores: number;
  spillLoads: number;
  stack: number;
  sharedMemory: number;
}

const root = join(__dirname, "..", "..");
const resources = join(root, "build-cuda", "resources.json");

function missingTool(): string | undefined {
  for (const tool of ["nvcc", "cmake"]) {
    const path = `${process.env["PATH"] ?? ""}:/usr/local/cuda/bin`;
    if (!path.split(":").some((folder) => existsSync(join(folder, tool)))) return tool;
  }
  return undefined;
}

const missing = missingTool();

if (missing) {
  test.skip(`CUDA sources are not compiled here: no ${missing}`, () => undefined);
} else {
  describe("the CUDA build", () => {
    const kernels = (): Kernel[] => JSON.parse(readFileSync(resources, "utf8")) as Kernel[];
    const sources = readdirSync(join(root, "native", "cuda")).filter((name) => name.endsWith(".cu"));

    test("left a library and its resource report", () => {
      expect(existsSync(join(root, "build-cuda", "libsurprisal_cuda.so"))).toBe(true);
      expect(existsSync(resources)).toBe(true);
    });

    test.each(sources)("compiled every kernel of %s", (source) => {
      const path = `native/cuda/${source}`;
      const compiled = kernels()
        .filter((kernel) => kernel.source === path)
        .map((kernel) => kernel.name);
      const text = readFileSync(join(root, path), "utf8");
      const written = [...text.matchAll(/\b__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(/g)];
      for (const [, name] of written) {
        // A template that nobody launches compiles to nothing: dead code.
        expect(compiled).toContainEqual(expect.stringMatching(new RegExp(`\\b${name!}\\b`)));
      }
    });

    test("has no kernel that spills registers or uses local memory", () => {
      const heavy = kernels().filter((kernel) => kernel.spillStores + kernel.spillLoads + kernel.stack > 0);
      expect(heavy).toEqual([]);
    });

    test("fits every kernel on the device: at most 255 registers and 48 KiB of static shared memory", () => {
      for (const kernel of kernels()) {
        expect(kernel.registers).toBeLessThanOrEqual(255);
        expect(kernel.sharedMemory).toBeLessThanOrEqual(48 * 1024);
      }
    });

    test("exports one symbol and needs no CUDA library", () => {
      const library = join(root, "build-cuda", "libsurprisal_cuda.so");
      const exported = execFileSync("nm", ["-D", "--defined-only", library], { encoding: "utf8" });
      expect(
        exported
          .trim()
          .split("\n")
          .map((line) => line.split(" ").pop()),
      ).toEqual(["srp_backend_get"]);
      const needed = execFileSync("readelf", ["-d", library], { encoding: "utf8" });
      expect(needed).not.toMatch(/NEEDED.*(cuda|cublas|nvrtc|stdc\+\+)/);
    });
  });
}

describe("the report's parser", () => {
  const report = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    376 bytes stack frame, 416 bytes spill stores, 408 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 376 bytes cumulative stack size, 128 bytes smem
ptxas info    : Compiling entry function '_Z1gPf' for 'sm_90'
ptxas info    : Function properties for _Z1gPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
`;

  test("reads registers, shared memory, stack and spills of each kernel", () => {
    const program = `
import { parsePtxas, spilling } from ${JSON.stringify(join(root, "scripts", "cuda-resources.mjs"))};
const kernels = parsePtxas(${JSON.stringify(report)}, "native/cuda/k.cu");
console.log(JSON.stringify({ kernels, spilling: spilling(kernels).map((kernel) => kernel.symbol) }));
`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    const numbers = { registers: 32, spillStores: 416, spillLoads: 408, stack: 376, sharedMemory: 128 };
    const clean = { registers: 8, spillStores: 0, spillLoads: 0, stack: 0, sharedMemory: 0 };
    expect(JSON.parse(output)).toEqual({
      kernels: [
        { name: "_Z1kPf", symbol: "_Z1kPf", source: "native/cuda/k.cu", arch: "sm_90", ...numbers },
        { name: "_Z1gPf", symbol: "_Z1gPf", source: "native/cuda/k.cu", arch: "sm_90", ...clean },
      ],
      spilling: ["_Z1kPf"],
    });
  });
});
