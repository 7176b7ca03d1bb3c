// jax-js on its WebAssembly backend, compiled by its jit.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cutTo, inProcess, numbersOf, type Outputs } from "./in-process";
import type { AbsentPeer, Peer } from "./peer";
import type { PeerTask } from "./task";

/** Every use of an array consumes it; `ref` is one more use. */
interface JaxArray {
  readonly ref: JaxArray;
  add(other: JaxArray): JaxArray;
  sub(other: JaxArray): JaxArray;
  mul(other: JaxArray): JaxArray;
  div(other: JaxArray): JaxArray;
  data(): Promise<Float32Array>;
  dispose(): void;
}
interface Jax {
  readonly numpy: {
    array(values: Float32Array, options: { shape: readonly number[] }): JaxArray;
    max(x: JaxArray, axis: number, options?: { keepdims: boolean }): JaxArray;
    sum(x: JaxArray, axis: number): JaxArray;
    exp(x: JaxArray): JaxArray;
    log(x: JaxArray): JaxArray;
  };
  readonly jit: (f: (x: JaxArray) => JaxArray) => (x: JaxArray) => JaxArray;
  readonly init: (...devices: string[]) => Promise<readonly string[]>;
  readonly defaultDevice: (device: string) => void;
}

const MOST_ELEMENTS = 2 ** 23;

function entropies({ numpy: np, jit }: Jax, task: PeerTask): { run: () => Promise<Outputs>; dispose: () => void } {
  const [rows, vocab] = numbersOf(task, "rows", "vocab");
  const logits = np.array(task.arrays["logits"] as Float32Array, { shape: [rows, vocab] });
  const compute = jit((x) => {
    const z = x.ref.sub(np.max(x, -1, { keepdims: true }));
    const e = np.exp(z.ref);
    const sums = np.sum(e.ref, -1);
    return np.log(sums.ref).sub(np.sum(e.mul(z), -1).div(sums));
  });
  return {
    run: async () => ({ entropies: await compute(logits.ref).data() }),
    dispose: () => logits.dispose(),
  };
}

export async function jaxJsPeer(): Promise<Peer | AbsentPeer> {
  const name = "jax-js";
  try {
    const jax = (await import("@jax-js/jax")) as unknown as Jax;
    await jax.init("wasm");
    jax.defaultDevice("wasm");
    const manifest = join(__dirname, "..", "..", "node_modules", "@jax-js", "jax", "package.json");
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
    let dispose: (() => void) | undefined;
    return {
      name,
      version: `${version}, wasm`,
      formsOf: (task, threads) => {
        if (task.kind !== "logprob" || task.bfloat16 || threads > 1) return Promise.resolve([]);
        const cut = cutTo(task, Math.max(1, Math.floor(MOST_ELEMENTS / task.numbers["vocab"]!)));
        const work = entropies(jax, cut.task);
        dispose = work.dispose;
        return Promise.resolve([inProcess("jax-js wasm, entropy alone", "jax-js", cut.task, work.run, cut.part)]);
      },
      release: () => {
        dispose?.();
        dispose = undefined;
        return Promise.resolve();
      },
      close: () => undefined,
    };
  } catch (error) {
    return { name, reason: `${error instanceof Error ? error.message : String(error)}; to get it: npm ci` };
  }
}
