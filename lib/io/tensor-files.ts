// Rollouts in safetensors and npz files: all of them in memory.
import type { AtomicFile } from "./atomic-file";
import type { DialectDetector } from "./dialects";
import { tensorsOf } from "./tensors-of-rollouts";
import { ROLLOUT_TENSORS, rolloutsOfTensors } from "./rollouts-of-tensors";
import type { Rollout } from "./record";
import type { GrowingReport } from "./growing-report";
import type { ByteSource } from "./source";
import { tensorNames, readTensorsOf, writeTensorsTo } from "./tensors";

export interface TensorRolloutOptions {
  readonly op: string;
  readonly report: GrowingReport;
  readonly detector: DialectDetector;
  readonly signal: AbortSignal | undefined;
  readonly tick: () => void;
}

export async function* tensorRollouts(
  source: ByteSource,
  { op, report, detector, signal, tick }: TensorRolloutOptions,
): AsyncGenerator<Rollout> {
  report.totalBytes = source.size;
  const names = (await tensorNames(op, source)).filter((name) => ROLLOUT_TENSORS.includes(name));
  const { tensors } = await readTensorsOf(op, source, { names, signal });
  report.bytes = source.size;
  report.dialect = "surprisal";
  tick();
  for (const rollout of rolloutsOfTensors(tensors, (row) => report.place(op, row))) {
    report.lines = ++report.rollouts;
    for (const whole of detector.fields.apply(report.place(op, report.lines), {}, [rollout], null)) yield whole;
    report.rewardFrom = detector.fields.rewardFrom;
  }
}

export async function writeTensorRollouts(
  op: string,
  file: AtomicFile,
  rollouts: AsyncIterable<Rollout>,
  format: "safetensors" | "npz",
): Promise<void> {
  const all: Rollout[] = [];
  for await (const rollout of rollouts) all.push(rollout);
  await writeTensorsTo(op, file, format, tensorsOf(op, all), {});
}
