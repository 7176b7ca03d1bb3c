// One case: checked against the CPU backend, timed beside a copy of as many bytes, checked again.
import type { Backend } from "../../../lib/backend/backend";
import type { Stream } from "../../../lib/core/stream";
import { describeErrors, isWrong } from "../../harness/check";
import { OURS } from "../../harness/names";
import { rotation } from "../../harness/pairing";
import { pairedRatios, scaled, spreadOf } from "../../harness/statistics";
import type { ResultLine, RunFacts } from "../../record";
import type { DeviceCase } from "./case";
import { recordBacklog, secondsOf } from "./clock";
import { bytesOfSet, copyPairs, cpuOutputs, deviceSets, errorsOfSet, sameBits } from "./memory";

export interface DeviceBench {
  readonly backend: Backend;
  readonly stream: Stream;
  readonly cpu: Backend;
  readonly facts: RunFacts;
  readonly level: string;
  /** Bytes that inputs and outputs of all sets span, at least: more than any L2 cache has. */
  readonly spread: number;
  /** Of a backlog of calls. */
  readonly milliseconds: number;
  readonly repetitions: number;
  readonly say: (text: string) => void;
}

/** Sets that a case rotates among. */
function setsFor(bytes: number, { spread }: DeviceBench): number {
  return Math.min(1000, Math.max(1, Math.ceil(spread / Math.max(1, bytes))));
}

/** Undefined, with the reason said, where a result is wrong. */
export function runDeviceCase(one: DeviceCase, bench: DeviceBench): ResultLine | undefined {
  const { stream, backend, say, repetitions, milliseconds, facts, level } = bench;
  const prepared = one.prepare();
  const cpu = cpuOutputs(one, prepared, bench.cpu);
  const count = setsFor(bytesOfSet(prepared), bench);
  const sets = deviceSets(one, prepared, backend, stream, count);
  const copies = copyPairs(stream, one.least.bytes, setsFor(one.least.bytes, bench));
  const graphs: { dispose(): void }[] = [];
  try {
    const [first] = sets;
    for (const set of new Set([first!, sets.at(-1)!])) set.poison(); // whose bits are compared at the end
    first!.run();
    const errors = errorsOfSet(first!, prepared, cpu);
    if (isWrong(errors)) {
      say(`  WRONG, not timed: ${describeErrors(errors)}`);
      return undefined;
    }
    const backlogs = [copies.runs, sets.map(({ run }) => run)].map((runs) => recordBacklog(stream, runs, milliseconds));
    graphs.push(...backlogs.map(({ graph }) => graph));
    const seconds: number[][] = [[], []];
    for (let r = 0; r <= repetitions; ++r)
      for (const i of rotation(backlogs.length, r)) {
        const took = secondsOf(stream, backlogs[i]!);
        if (r > 0) seconds[i]!.push(took); // the first of each is left out
      }
    const last = sets.at(-1)!;
    if (last === first ? isWrong(errorsOfSet(last, prepared, cpu)) : !sameBits(first!, last)) {
      say("  WRONG after the last repetition, not recorded: other bits than at first");
      return undefined;
    }
    const [copy, ours] = seconds as [number[], number[]];
    const rates = copy.map((s) => copies.moved / s / 1e9);
    return {
      format: 1,
      run: facts,
      kernel: one.kernel,
      op: one.op,
      backend: stream.backend,
      level,
      contender: OURS,
      shape: { name: one.shape.name, sizes: one.shape.sizes },
      dtype: one.dtype,
      rowKind: one.rowKind,
      threads: 0,
      metric: "time",
      unit: "ms",
      time: scaled(spreadOf(ours), 1e3),
      repetitions: ours.length,
      bytes: { least: one.least.bytes, formula: one.least.formula },
      roof: { kind: "device copy", gigabytesPerSecond: spreadOf(rates) },
      share: spreadOf(
        pairedRatios(
          ours.map((s) => one.least.bytes / s / 1e9),
          rates,
        ),
      ),
      error: errors,
    };
  } finally {
    stream.sync();
    for (const one of graphs) one.dispose();
    for (const set of sets) set.dispose();
    copies.dispose();
  }
}
