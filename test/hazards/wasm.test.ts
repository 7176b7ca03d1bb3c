// The WebAssembly backend: calls larger than a block, memory that grows and goes back, refusals, and what there is without a module.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logprob, logprobAsync, logprobBackward } from "../../lib";
import { CONTRACTS } from "../../lib/backend/contract/names";
import { HAND_OVER } from "../../lib/backend/contract/ops";
import { BLOCK_BYTES, KEPT_BYTES, wasmBackend } from "../../lib/backend/wasm";
import { WasmInstance } from "../../lib/backend/wasm/instance";
import { wasmModule, type WasmModule } from "../../lib/backend/wasm/module";
import { distFile } from "../support/dist";
import { rng } from "../support/rng";

const V = 3001;
const N = Math.ceil((3 * BLOCK_BYTES) / (4 * V));
const logits = rng(1).normal(N * V);
const targets = Int32Array.from({ length: N }, (_, n) => (n * 7) % V);
const ones = new Float32Array(N).fill(1);
const backend = "wasm";

const MOST_BYTES = 1e6;
const SCAN = {
  dtype: 1,
  gamma: 0.9,
  lambda: 0.9,
  maskMode: 0,
  transformMasked: 0,
  lambdas: null,
  lambdasPerToken: 0,
} as const;
const FORWARD = {
  dtype: 1,
  ...{ K: 0, temperature: 1, scale: 1, softcap: 0, targets: null, mask: null, logProbs: null },
  ...{ logSumExps: null, maxLogits: null, log1pSums: null, meanGaps: null, sumSquares: null },
} as const;
const NONE = { gammas: null, mask: null, bootstrap: null, offsets: null, returns: null };

const found = wasmModule();
if ("reason" in found) test.skip(`wasm is not available: ${found.reason}`, () => undefined);
else suite(found);

function suite({ module, first, file }: WasmModule): void {
  test("the module has every op of the contract, and is as small as it promises", () => {
    expect([...first.ops].sort()).toEqual(Object.keys(HAND_OVER).sort());
    expect(readFileSync(file!).length).toBeLessThan(MOST_BYTES);
    expect([first.level, first.contracts]).toEqual(["simd128", CONTRACTS]);
  });

  test("a call of many blocks gives, bit for bit, what its rows give one by one", () => {
    const whole = logprob(logits, targets, { shape: [N, V], backend });
    const gradient = logprobBackward(logits, targets, whole, { shape: [N, V], gradLogProbs: ones, backend });
    for (let n = 0; n < N; n++) {
      const row = logits.subarray(n * V, (n + 1) * V);
      const own = logprob(row, targets.subarray(n, n + 1), { shape: [1, V], backend });
      expect([whole.logProbs[n], whole.entropies[n]]).toEqual([own.logProbs[0], own.entropies[0]]);
      const alone = logprobBackward(row, targets.subarray(n, n + 1), own, {
        shape: [1, V],
        gradLogProbs: ones.subarray(0, 1),
        backend,
      });
      expect(Buffer.compare(bytesOf(alone), bytesOf(gradient.subarray(n * V, (n + 1) * V)))).toBe(0);
    }
  });

  test("a gradient in place of its logits is the same", () => {
    const sums = logprob(logits, targets, { shape: [N, V], backend });
    const options = { shape: [N, V], gradLogProbs: ones, backend } as const;
    const apart = logprobBackward(logits, targets, sums, options);
    const place = logits.slice();
    logprobBackward(place, targets, sums, { ...options, out: place });
    expect(Buffer.compare(bytesOf(place), bytesOf(apart))).toBe(0);
  });

  test("a call on 300 MB of logits takes a few MB beside them", () => {
    const own = new WasmInstance(module);
    const rows = Math.ceil(300e6 / (4 * V));
    const { ops } = wasmBackend({ module, first: own });
    const large = new Float32Array(rows * V);
    const entropies = new Float32Array(rows);
    ops.logprobForward({ ...FORWARD, N: rows, V, stride: V, logits: large, entropies });
    expect(own.memoryBytes).toBeLessThan(8 * BLOCK_BYTES);
    expect(entropies.at(-1)).toBeCloseTo(Math.log(V), 5);
  });

  test("a call that is refused in its last block leaves its outputs as they were", () => {
    const bad = targets.slice();
    bad[N - 1] = V;
    const out = { entropies: new Float32Array(N).fill(-5), logProbs: new Float32Array(N).fill(-5) };
    expect(() => logprob(logits, bad, { shape: [N, V], backend, out })).toThrow(/targets\[\d+\] is 3001/);
    expect(new Set([...out.entropies, ...out.logProbs])).toEqual(new Set([-5]));
  });

  test("off the event loop an abort is seen between blocks, and a transferred buffer is refused", async () => {
    const stop = new AbortController();
    const running = logprobAsync(logits, targets, { shape: [N, V], backend, signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    const gone = logits.slice();
    const late = logprobAsync(gone, targets, { shape: [N, V], backend });
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    await expect(late).rejects.toMatchObject({ code: "ERR_SURPRISAL_BUFFER" });
  });

  test("memory that grew for arrays that are copied whole is given back", () => {
    const own = new WasmInstance(module);
    const { ops } = wasmBackend({ module, first: own });
    const n = KEPT_BYTES / 8;
    const run = (T: number): Float32Array => {
      const advantages = new Float32Array(T);
      ops.scanGae({
        ...SCAN,
        ...NONE,
        rewards: new Float32Array(T).fill(1),
        values: new Float32Array(T),
        n: T,
        B: 1,
        T,
        advantages,
      });
      return advantages;
    };
    run(n);
    expect(own.memoryBytes).toBeGreaterThan(KEPT_BYTES);
    own.numbers[0] = -77; // would be written by another call in this instance
    expect(run(2)).toEqual(Float32Array.of(1.81, 1));
    expect(own.numbers[0]).toBe(-77);
  });

  test("after a trap the call fails and the next one runs in a new instance", () => {
    const broken = { ops: first.ops, numbers: new Float64Array(64) } as unknown as WasmInstance;
    broken.run = () => {
      throw new Error("unreachable");
    };
    const { ops } = wasmBackend({ module, first: broken });
    const values = new Float32Array(2);
    const advantages = new Float32Array(2);
    const args = { ...SCAN, ...NONE, rewards: Float32Array.of(1, 1), values, n: 2, B: 1, T: 2, advantages } as const;
    expect(() => ops.scanGae(args)).toThrow(/scanGae: the WebAssembly module failed: unreachable/);
    ops.scanGae(args);
    expect(advantages).toEqual(Float32Array.of(1.81, 1));
  });

  describe("what native code refuses once more", () => {
    const { ops } = wasmBackend({ module, first: new WasmInstance(module) });
    const four = new Float32Array(4);
    const good = { ...SCAN, ...NONE, rewards: four, values: new Float32Array(4), n: 4, B: 1, T: 4 };
    const advantages = Float32Array.of(-5, -5, -5, -5);
    test.each([
      ["an array that is too short", { rewards: new Float32Array(3) }, /rewards has 3 elements, expected 4/],
      ["another element type", { rewards: new Float64Array(4) }, /rewards has another element type/],
      ["no typed array", { rewards: [1, 2, 3, 4] }, /rewards has another element type/],
      ["a size that is no integer", { n: 4.5 }, /n is 4.5, expected an integer/],
      ["a size that is no number", { n: Number.NaN }, /n is nan, expected an integer/],
      ["a negative size", { n: -4 }, /cannot have the sizes given/],
      ["a size whose bytes do not fit 64 bits", { n: 2 ** 62, T: 2 ** 62 }, /n is .*, expected an integer/],
      ["a size beyond the arrays", { n: 2 ** 40, T: 2 ** 40 }, /rewards has 4 elements, expected 1099511627776/],
      ["an output that overlaps an input", { advantages: four.subarray(0) }, /advantages overlaps rewards/],
      ["sizes that contradict each other", { T: 3 }, /n is 4, expected B \* T = 1 \* 3/],
      ["a required array that is missing", { rewards: null }, /rewards is NULL/],
    ])("%s", (_, wrong, text) => {
      expect(() => ops.scanGae({ ...good, advantages, ...wrong } as never)).toThrow(text);
      expect(advantages).toEqual(Float32Array.of(-5, -5, -5, -5));
    });

    test("rows of a call that is cut into blocks", () => {
      const args = { ...FORWARD, V, N, stride: V, logits, entropies: new Float32Array(N) };
      expect(() => ops.logprobForward({ ...args, entropies: new Float32Array(N - 1) })).toThrow(
        new RegExp(`entropies has ${N - 1} elements, expected ${N}`),
      );
      expect(() => ops.logprobForward({ ...args, entropies: logits.subarray(N * V - N) })).toThrow(
        /entropies overlaps logits/,
      );
      expect(() => ops.logprobForward({ ...args, N: 2 ** 31 })).toThrow(/logits has .* elements/);
    });
  });

  describe("in a process of its own", () => {
    const folder = mkdtempSync(join(tmpdir(), "surprisal-wasm-"));
    afterAll(() => rmSync(folder, { recursive: true }));

    function run(program: string): unknown {
      const prelude = `const s = require(${JSON.stringify(distFile())});
        const status = () => s.backendInfo().backends.find((b) => b.name === "wasm");
        const entropy = () => [...s.logprob(new Float32Array(2), null, { shape: [1, 2], backend: "wasm" }).entropies];
        const code = (f) => { try { return f(); } catch (e) { return e.code + " | " + e.message; } };`;
      const env = { ...process.env, SURPRISAL_NATIVE_PATH: folder };
      const { stdout, stderr } = spawnSync(process.execPath, ["-e", `${prelude}${program}`], { encoding: "utf8", env });
      expect(stderr).toBe("");
      return JSON.parse(stdout);
    }
    const print = (expression: string) => `console.log(JSON.stringify(${expression}))`;

    test("a file that is no module is named with the engine's reason", () => {
      writeFileSync(join(folder, "surprisal.wasm"), "no module");
      expect(run(print("[status(), code(entropy)]"))).toEqual([
        {
          name: "wasm",
          available: false,
          reason: expect.stringContaining("does not run here") as string,
          file: join(folder, "surprisal.wasm"),
        },
        expect.stringMatching(/^ERR_SURPRISAL_BACKEND_UNAVAILABLE.*"wasm" cannot run here/),
      ]);
    });

    test("a module of other contracts is refused", () => {
      const bytes = readFileSync(file!);
      const at = bytes.indexOf(CONTRACTS);
      bytes.write("00000000", at);
      writeFileSync(join(folder, "surprisal.wasm"), bytes);
      expect(run(print("status().reason"))).toContain("was built from another version of this package");
    });

    test("without WebAssembly the backend says so", () => {
      expect(run(`delete globalThis.WebAssembly; ${print("status().reason")}`)).toContain("no WebAssembly");
    });

    test("configure takes the module where the file is of no use: bytes, a buffer, or compiled", () => {
      writeFileSync(join(folder, "surprisal.wasm"), "no module");
      const bytes = `require("fs").readFileSync(${JSON.stringify(file)})`;
      for (const given of [bytes, `new Uint8Array(${bytes}).buffer`, `new WebAssembly.Module(${bytes})`])
        expect(run(`status(); s.configure({ wasm: ${given} }); ${print("[entropy(), status().available]")}`)).toEqual([
          [expect.closeTo(Math.LN2, 6) as number],
          true,
        ]);
      expect(run(print("code(() => s.configure({ wasm: 5 }))"))).toMatch(/^ERR_SURPRISAL_OPTION.*wasm is 5/);
      expect(run(print("code(() => s.configure({ wasm: new Uint8Array(8) }))"))).toMatch(
        /^ERR_SURPRISAL_BACKEND_UNAVAILABLE/,
      );
    });
  });
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
