// TensorFlow.js on its WebAssembly backend.
import { dirname } from "node:path";
import { createRequire } from "node:module";
import { cutTo, inProcess, numbersOf, type Outputs } from "./in-process";
import { loadInstalled } from "./installed";
import type { AbsentPeer, Peer } from "./peer";
import type { PeerTask } from "./task";

interface Tensor {
  max(axis: number, keep: boolean): Tensor;
  sum(axis: number): Tensor;
  sub(other: Tensor): Tensor;
  mul(other: Tensor): Tensor;
  div(other: Tensor): Tensor;
  exp(): Tensor;
  log(): Tensor;
  dataSync(): Float32Array;
  dispose(): void;
}
interface TensorFlow {
  readonly tidy: <T>(work: () => T) => T;
  readonly tensor2d: (values: Float32Array | Int32Array, shape: readonly [number, number], dtype: string) => Tensor;
  readonly gatherND: (values: Tensor, indices: Tensor) => Tensor;
  readonly setBackend: (name: string) => Promise<boolean>;
  readonly ready: () => Promise<void>;
}
interface WasmBackend {
  readonly setWasmPaths: (folder: string) => void;
}

/** Its memory and its patience end here. */
const MOST_ELEMENTS = 2 ** 24;

function shifted(tf: TensorFlow, task: PeerTask): { run: () => Outputs; dispose: () => void } {
  const [rows, vocab] = numbersOf(task, "rows", "vocab");
  const targets = task.arrays["targets"] as Int32Array;
  const logits = tf.tensor2d(task.arrays["logits"] as Float32Array, [rows, vocab], "float32");
  const places = tf.tensor2d(
    Int32Array.from({ length: 2 * rows }, (_, i) => (i % 2 === 0 ? i / 2 : targets[(i - 1) / 2]!)),
    [rows, 2],
    "int32",
  );
  return {
    run: () =>
      tf.tidy(() => {
        const z = logits.sub(logits.max(1, true));
        const e = z.exp();
        const sums = e.sum(1);
        const logs = sums.log();
        return {
          logProbs: tf.gatherND(z, places).sub(logs).dataSync(),
          entropies: logs.sub(e.mul(z).sum(1).div(sums)).dataSync(),
        };
      }),
    dispose: () => {
      logits.dispose();
      places.dispose();
    },
  };
}

export async function tfjsPeer(): Promise<Peer | AbsentPeer> {
  const [core, wasm] = [loadInstalled("@tensorflow/tfjs"), loadInstalled("@tensorflow/tfjs-backend-wasm")];
  if ("reason" in core) return { name: "tfjs", reason: core.reason };
  if ("reason" in wasm) return { name: "tfjs", reason: wasm.reason };
  const tf = core.module as TensorFlow;
  const entry = createRequire(`${__dirname}/package.json`).resolve("@tensorflow/tfjs-backend-wasm");
  (wasm.module as WasmBackend).setWasmPaths(`${dirname(entry)}/`);
  await tf.setBackend("wasm");
  await tf.ready();
  let dispose: (() => void) | undefined;
  return {
    name: "tfjs",
    version: `${core.version}, wasm`,
    formsOf: (task, threads) => {
      if (task.kind !== "logprob" || task.bfloat16 || threads > 1) return Promise.resolve([]);
      const cut = cutTo(task, Math.max(1, Math.floor(MOST_ELEMENTS / task.numbers["vocab"]!)));
      const work = shifted(tf, cut.task);
      dispose = work.dispose;
      return Promise.resolve([inProcess("tfjs wasm", "tfjs", cut.task, work.run, cut.part)]);
    },
    release: () => {
      dispose?.();
      dispose = undefined;
      return Promise.resolve();
    },
    close: () => undefined,
  };
}
