// The emulation must run right kernels right, and must say what is wrong with wrong ones.
// The programs are C++ (test/native/emulation), compiled here: plain, with ASan and UBSan, with TSan.
import { bugLine, findCompiler, Programs, whyNot, type Build } from "./programs";

/** Kernels that break a rule of the execution model, and the rule's words. The same in every build and thread order. */
const BROKEN_RULES: [name: string, rule: RegExp][] = [
  [
    "divergent-barrier",
    /thread \(\d+,0,0\) of block \(0,0,0\) (returned while \d+ thread\(s\) wait at|reaches) __syncthreads /,
  ],
  ["two-barriers", /thread \(\d+,0,0\) of block \(0,0,0\) is at __syncthreads \S+ while \d+ thread\(s\) wait at /],
  [
    "deadlock",
    /deadlock in block \(0,0,0\): 64 thread\(s\), the first \(0,0,0\), wait at __syncthreads \S+; 64 thread\(s\), the first \(16,0,0\), wait at __shfl_xor_sync \S+; 0 returned$/,
  ],
  ["foreign-mask", /thread \(\d+,0,0\) .* calls __shfl_xor_sync \S+ with mask 0x0000ffff that lacks its own lane \d+$/],
  ["absent-lane", /reads lane 20 by __shfl_sync \S+ with mask 0x0000ffff: that lane is not in the mask/],
  ["disagreeing-masks", /with mask 0x0000ffff while its partner lane 5 calls __ballot_sync \S+ with mask 0xffffffff$/],
  ["bad-width", /and width 12, expected 1, 2, 4, 8, 16 or 32$/],
  ["copy-unawaited", /thread \(\d+,0,0\) .* reads what a copy of thread \d+ has not brought yet, by ldmatrix \S+$/],
  [
    "copy-without-barrier",
    / reads what (a copy of thread \d+ has not brought yet|a copy of warp \d brought, without a __syncthreads between), by ldmatrix \S+$/,
  ],
  [
    "copy-over-read",
    / copies over what warp \d has read since the last __syncthreads, by __pipeline_memcpy_async \S+$/,
  ],
  ["copy-twice", / copies to where a copy of thread \d+ is under way, by __pipeline_memcpy_async \S+$/],
  [
    "copy-left",
    / returned while 1 of its copies to shared memory are under way, the first by __pipeline_memcpy_async \S+$/,
  ],
  [
    "copy-uneven",
    / copies 16 bytes from or to an address that is no multiple of them, by __pipeline_memcpy_async \S+$/,
  ],
  ["half-a-warp", / calls mma \S+ without lane 16, which has returned or does not exist$/],
  ["product-unawaited", / reads what a copy of thread \d+ has not brought yet, by wgmma \S+$/],
  ["product-unfenced", / reads what a copy of warp \d brought, without its fence.proxy.async, by wgmma \S+$/],
  ["product-unordered", / begins a product without a wgmma.fence since it waited, by wgmma \S+$/],
  ["product-unaligned", / multiplies lines that do not begin at a multiple of 1024 bytes, by wgmma \S+$/],
  [
    "product-of-three",
    / in block \(0,0,0\) warp 2 has begun 0 products of its warpgroup, warp 0 1, the last by wgmma \S+$/,
  ],
  ["product-left", / returned while 1 of its products are under way, the first by wgmma \S+$/],
  [
    "copy-over-product",
    / copies over what products of warp \d read, which it has not waited for, by __pipeline_memcpy_async \S+$/,
  ],
  [
    "store-before-begin",
    / stores to shared memory of block \(\d,0,0\) \S+ before the first barrier of the cluster, when it may not have begun$/,
  ],
  [
    "store-left",
    /block \(0,0,0\) stores to (another block \S+ with no barrier of the cluster behind it|shared memory of block \(0,0,0\) \S+ where threads have returned)$/,
  ],
  [
    "store-after-end",
    / stores to (another block \S+ with no barrier of the cluster behind it|shared memory of block \([01],0,0\) \S+ where threads have returned)$/,
  ],
  [
    "store-outside",
    / stores 8 bytes to another block \S+ where its own has no dynamic shared memory, or at an address that is no multiple of them$/,
  ],
  ["store-to-nobody", / stores to block 4 of its cluster \S+ which has 4$/],
  [
    "divergent-cluster-sync",
    / (returned while 256 thread\(s\) wait at the barrier of its cluster \S+|reaches the barrier of its cluster \S+ after \d+ thread\(s\) of it have returned)$/,
  ],
  ["two-cluster-syncs", / is at the barrier of its cluster \S+ while \d+ thread\(s\) wait at \S+$/],
  [
    "cluster-deadlock",
    /deadlock in the cluster of block \(0,0,0\): in block \(0,0,0\) 64 thread\(s\), the first \(0,0,0\), wait at cluster_sync \S+; 64 thread\(s\), the first \(16,0,0\), wait at __shfl_xor_sync \S+; 0 returned; in block \(1,0,0\) 128 thread\(s\)/,
  ],
  ["shared-limit", /shared array more \(\S+\) takes 4 bytes where 49152 of 49152 are taken$/],
];

/** Host code that breaks the order of its streams, and what a plain run under delays says in at least one of them. */
const STREAM_BUGS: [name: string, says: RegExp][] = [
  ["missing-stream-wait", /^wrong$/],
  ["early-refill", /^wrong$/],
  ["early-read", /^wrong$/],
  ["use-after-free", /^wrong$|copy_kernel: an argument points into 512 bytes of device memory that were freed$/],
  ["use-after-reuse", /^wrong$|copy_kernel: an argument points into 512 bytes of device memory that /],
  ["use-before-allocation", /set_kernel: an argument points into 512 bytes of device memory that /],
  ["write-after-free", /^cudaErrorIllegalAddress: byte 0 of 512 was written after cudaFreeAsync gave them back$/],
];

const compiler = findCompiler();

if ("reason" in compiler) {
  test.skip(`the emulation is not tested: ${compiler.reason}`, () => undefined);
} else {
  const programs = new Programs(compiler.path);
  afterAll(() => programs.remove());

  /** Registers the suite of one build, or one skipped test with the reason. */
  const suite = (build: Build, title: string, tests: () => void) => {
    const reason = whyNot(compiler.path, build);
    if (reason !== undefined) {
      test.skip(`${title} is not tested: ${reason}`, () => undefined);
      return;
    }
    describe(title, () => {
      beforeAll(() => programs.build(build, ["kernels", "planted", "runtime", "streams", "planted_streams"]), 240_000);

      test("kernels agree with plain loops in all three thread orders", () => {
        const { status, stderr, lines } = programs.run("kernels", build);
        expect(lines.filter((line) => !line.startsWith("passed: "))).toEqual(["0 failed"]);
        expect(lines).toHaveLength(3 * 15 + 1);
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      });

      test("runtime functions refuse what CUDA refuses, and host threads launch side by side", () => {
        const { status, stderr, lines } = programs.run("runtime", build);
        expect(lines.filter((line) => !line.startsWith("passed: "))).toEqual(["0 failed"]);
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      });

      test.each([
        ["streams, events, pinned memory, graphs and devices behave as CUDA's", ""],
        ["a fault stays where it is told to", "sticky"],
        ["calls fail on order", "fail"],
      ])("%s", (_, what) => {
        const { status, stderr, lines } = programs.run("streams", build, [what]);
        expect(lines.filter((line) => !line.startsWith("passed: "))).toEqual(["0 failed"]);
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      });

      test.each(STREAM_BUGS)("%s: without the bug the result is right under all delays", (name) => {
        const { status, stderr, lines } = programs.run("planted_streams", build, [name, "mended"]);
        expect(new Set(lines)).toEqual(new Set(["right"]));
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      });

      test.each(BROKEN_RULES)("%s: the report names thread, place and rule", (name, rule) => {
        const { status, stderr, lines } = programs.run("planted", build, [name]);
        expect(lines).toHaveLength(3);
        for (const line of lines) {
          expect(line).toMatch(/^cudaErrorLaunchFailure: kernel bug\.kernel: /);
          expect(line).toMatch(rule);
          expect(line).toContain(bugLine(name));
        }
        // Threads abandoned in the middle of a kernel leave no leak and no race behind.
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      });

      tests();
    });
  };

  suite("plain", "the plain emulation", () => {
    test.each([
      ["missing-barrier", ["right", "wrong", "wrong"]], // forward order hides it
      ["missing-second-barrier", ["wrong", "wrong", "wrong"]],
      ["missing-late-barrier", ["right", "wrong", "wrong"]], // only where a warp runs ahead
      ["between-blocks", ["right", "wrong", "wrong"]],
      ["sums-read-early", ["wrong", "wrong", "wrong"]],
      ["missing-cluster-sync", ["wrong", "wrong", "wrong"]],
      ["missing-second-cluster-sync", ["right", "wrong", "wrong"]], // the forward order stores late
    ])("%s: the result depends on the order, or is wrong in all", (name, want) => {
      expect(programs.run("planted", "plain", [name], { SURPRISAL_EMULATION_THREADS: "1" }).lines).toEqual(want);
    });

    test("a write past the end of a shared array is found when the block ends", () => {
      const { lines } = programs.run("planted", "plain", ["shared-write"]);
      for (const line of lines) expect(line).toMatch(/block \(0,0,0\) wrote past the end of shared array first/);
    });

    test("shared memory that nobody wrote holds NaNs", () => {
      expect(programs.run("planted", "plain", ["unset"]).lines).toEqual(["0 of 128 values are numbers"]);
    });

    test.each(STREAM_BUGS)("%s: some delay brings it to light", (name, says) => {
      const { status, lines } = programs.run("planted_streams", "plain", [name]);
      expect(status).toBe(0);
      expect(lines).toHaveLength(12);
      expect(lines.some((line) => says.test(line))).toBe(true);
    });

    test.each([
      ["forward", "right"],
      ["reverse", "wrong"],
      ["random", "wrong"],
      ["random:7", "wrong"],
    ])("SURPRISAL_EMULATION_ORDER=%s is obeyed", (order, want) => {
      const environment = { SURPRISAL_EMULATION_ORDER: order };
      expect(programs.run("planted", "plain", ["missing-barrier", "as-is"], environment).lines).toEqual([want]);
    });

    test.each([
      ["SURPRISAL_EMULATION_ORDER", "sideways"],
      ["SURPRISAL_EMULATION_ORDER", "random:x"],
      ["SURPRISAL_EMULATION_THREADS", "0"],
      ["SURPRISAL_EMULATION_STREAMS", "late"],
      ["SURPRISAL_EMULATION_DEVICES", "9"],
      ["SURPRISAL_EMULATION_CAPABILITY", "7.5"],
      ["SURPRISAL_EMULATION_MULTIPROCESSORS", "0"],
      ["SURPRISAL_EMULATION_MEMORY", "1G"],
      ["SURPRISAL_EMULATION_STICKY", "yes"],
    ])("%s=%s makes launches fail and say why", (variable, value) => {
      const { lines } = programs.run("planted", "plain", ["missing-barrier", "as-is"], { [variable]: value });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(`${variable} is "${value}", expected `);
    });

    test("what would make results depend on the order does not compile", () => {
      expect(programs.complaints("__global__ void k(int* x) { atomicAdd(x, 1); }")).toBe("");
      expect(programs.complaints("__global__ void k(float* x) { atomicAdd(x, 1.0f); }")).toMatch(/deleted function/);
      expect(programs.complaints("__global__ void k(unsigned* x) { *x = __activemask(); }")).toMatch(
        /deleted function/,
      );
    });
  });

  suite("asan", "the emulation under ASan and UBSan", () => {
    test("write-after-free: the write to memory that is back in its pool is found at its line", () => {
      const { stderr, status } = programs.run("planted_streams", "asan", ["write-after-free"]);
      expect(stderr).toContain("AddressSanitizer: use-after-poison");
      expect(stderr).toMatch(new RegExp(`#0 .*${bugLine("write-after-free", "planted_streams.cu")}`));
      expect(status).not.toBe(0);
    });

    test.each([
      ["shared-write", "use-after-poison"],
      ["shared-read", "use-after-poison"],
      ["global-read", "heap-buffer-overflow"],
    ])("%s: the access is found at its line", (name, kind) => {
      const { status, stderr } = programs.run("planted", "asan", [name]);
      expect(stderr).toContain(`AddressSanitizer: ${kind}`);
      expect(stderr).toMatch(new RegExp(`#0 .*${bugLine(name)}`));
      expect(status).not.toBe(0);
    });
  });

  suite("tsan", "the emulation under TSan", () => {
    test("missing-stream-wait: the race between two kernels is found", () => {
      const { stderr, status } = programs.run("planted_streams", "tsan", ["missing-stream-wait"]);
      expect(stderr).toContain("ThreadSanitizer: data race");
      expect(stderr).toMatch(/#0 (set|copy)_kernel\(/);
      expect(status).not.toBe(0);
    });

    test.each(["missing-barrier", "missing-second-barrier", "missing-syncwarp"])(
      "%s: the race is found at its line",
      (name) => {
        const { status, stderr } = programs.run("planted", "tsan", [name]);
        expect(stderr).toContain("ThreadSanitizer: data race");
        expect(stderr).toMatch(new RegExp(`#0 .*${bugLine(name)}`));
        expect(status).not.toBe(0);
      },
    );
  });
}
