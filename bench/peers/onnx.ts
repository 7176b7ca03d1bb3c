// ONNX Runtime on the CPU: the graph that a log-softmax with entropy becomes.
import { inProcess, numbersOf, type Outputs } from "./in-process";
import { loadInstalled } from "./installed";
import { FLOAT, INT64, onnxModel } from "./onnx-model";
import type { AbsentPeer, Peer } from "./peer";
import type { PeerTask } from "./task";

interface Tensor {
  readonly data: Float32Array;
}
interface Session {
  run(feeds: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, Tensor>>>;
  release(): Promise<void>;
}
interface OnnxRuntime {
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> };
  readonly Tensor: new (type: string, data: unknown, sizes: readonly number[]) => unknown;
}

function model(rows: number, vocab: number): Uint8Array {
  return onnxModel(
    [
      { op: "LogSoftmax", inputs: ["logits"], outputs: ["logs"], attributes: { axis: -1 } },
      { op: "Exp", inputs: ["logs"], outputs: ["shares"] },
      { op: "Mul", inputs: ["shares", "logs"], outputs: ["terms"] },
      { op: "ReduceSum", inputs: ["terms", "axis"], outputs: ["sums"], attributes: { keepdims: 0 } },
      { op: "Neg", inputs: ["sums"], outputs: ["entropies"] },
      { op: "GatherElements", inputs: ["logs", "targets"], outputs: ["logProbs"], attributes: { axis: 1 } },
    ],
    [
      { name: "logits", type: FLOAT, sizes: [rows, vocab] },
      { name: "targets", type: INT64, sizes: [rows, 1] },
    ],
    [
      { name: "logProbs", type: FLOAT, sizes: [rows, 1] },
      { name: "entropies", type: FLOAT, sizes: [rows] },
    ],
    { axis: [-1] },
  );
}

export function onnxPeer(): Promise<Peer | AbsentPeer> {
  const found = loadInstalled("onnxruntime-node");
  if ("reason" in found) return Promise.resolve({ name: "onnxruntime-node", reason: found.reason });
  const ort = found.module as OnnxRuntime;
  let session: Session | undefined;

  async function open(task: PeerTask, threads: number): Promise<() => Promise<Outputs>> {
    const [rows, vocab] = numbersOf(task, "rows", "vocab");
    const opened = await ort.InferenceSession.create(model(rows, vocab), {
      intraOpNumThreads: threads,
      graphOptimizationLevel: "all",
    });
    session = opened;
    const feeds = {
      logits: new ort.Tensor("float32", task.arrays["logits"], [rows, vocab]),
      targets: new ort.Tensor("int64", BigInt64Array.from(task.arrays["targets"] as Int32Array, BigInt), [rows, 1]),
    };
    return async () => {
      const { logProbs, entropies } = await opened.run(feeds);
      return { logProbs: logProbs!.data, entropies: entropies!.data };
    };
  }

  return Promise.resolve({
    name: "onnxruntime-node",
    version: found.version,
    formsOf: async (task, threads) =>
      task.kind === "logprob" && !task.bfloat16
        ? [inProcess("onnxruntime", "onnxruntime", task, await open(task, threads))]
        : [],
    release: async () => {
      await session?.release();
      session = undefined;
    },
    close: () => undefined,
  });
}
