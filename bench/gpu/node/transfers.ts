// Between host and device: copies alone, and whole calls on host arrays, by the host's clock. No share of a device copy: the bus
// is the limit.
import { gae, logprob, type BackendName } from "../../../lib";
import { allocateOn } from "../../../lib/core/device-array";
import { rollouts } from "../../cases/scan";
import { logitRows } from "../../cases/logit-rows";
import { OURS } from "../../harness/names";
import { scaled, spreadOf } from "../../harness/statistics";
import type { ResultLine } from "../../record";
import { LOGITS, ROLLOUTS, type Shape } from "../../shapes";
import type { DeviceBench } from "./run-case";

interface Transfer {
  readonly kernel: string;
  readonly op: string;
  readonly dtype: string;
  readonly rowKind: string;
  readonly shape: Shape;
  readonly bytes: { readonly least: number; readonly formula: string };
  readonly prepare: () => () => void;
}

function copies(bytes: number, { stream }: DeviceBench): Transfer[] {
  const shape: Shape = { name: bytes >= 1e6 ? `${bytes / 1e6} MB` : `${bytes / 1e3} kB`, sizes: [bytes] };
  const common = {
    kernel: "transfer",
    dtype: "uint8",
    rowKind: "ordinary memory",
    shape,
    bytes: { least: bytes, formula: "n" },
  };
  const host = () => new Uint8Array(bytes).fill(7);
  return [
    {
      ...common,
      op: "toDevice",
      prepare: () => {
        const [from, there] = [host(), allocateOn(stream, "uint8", [bytes])];
        return () => {
          there.write(from);
          stream.sync();
        };
      },
    },
    {
      ...common,
      op: "read",
      prepare: () => {
        const [to, there] = [host(), allocateOn(stream, "uint8", [bytes])];
        there.write(to);
        return () => void there.read(to);
      },
    },
  ];
}

/** Calls on typed arrays: what was sent and read back is in the time. */
function calls(tiny: boolean, backend: BackendName): Transfer[] {
  const [rows, vocab] = tiny ? [8, 1000] : LOGITS.qwen.sizes;
  const [episodes, steps] = tiny ? [4, 300] : ROLLOUTS.batch.sizes;
  const named = (name: string, ...sizes: readonly number[]): Shape => ({ name: tiny ? "tiny" : name, sizes });
  return [
    {
      kernel: "logprob",
      op: "logprob, on host arrays",
      dtype: "bfloat16",
      rowKind: "normal",
      shape: named(LOGITS.qwen.name, rows, vocab),
      bytes: { least: 2 * rows * vocab, formula: "s V N to the device" },
      prepare: () => {
        const { logits, targets } = logitRows(rows, vocab, "bfloat16", "normal");
        return () => void logprob(logits, targets, { dtype: "bfloat16", shape: [rows, vocab], backend });
      },
    },
    {
      kernel: "scan",
      op: "gae, on host arrays",
      dtype: "float32",
      rowKind: "γ = 1, λ = 0.95",
      shape: named(ROLLOUTS.batch.name, episodes, steps),
      bytes: { least: 17 * episodes * steps, formula: "9 n to the device, 8 n back" },
      prepare: () => {
        const { rewards, values, mask } = rollouts(episodes, steps, 1, 0.95);
        return () => void gae(rewards, values, { shape: [episodes, steps], mask, gamma: 1, lambda: 0.95, backend });
      },
    },
  ];
}

/** Lines of what goes over the bus. */
export function runTransfers(bench: DeviceBench, tiny: boolean): ResultLine[] {
  const { stream, repetitions, facts, level, say } = bench;
  const sizes = tiny ? [4e3] : [4e3, 1e6, 64e6, 256e6];
  return [...sizes.flatMap((bytes) => copies(bytes, bench)), ...calls(tiny, stream.backend)].map(
    ({ prepare, bytes, ...one }) => {
      const run = prepare();
      const seconds: number[] = [];
      for (let r = 0; r <= repetitions; ++r) {
        const began = performance.now();
        run();
        if (r > 0) seconds.push((performance.now() - began) / 1e3);
      }
      const time = scaled(spreadOf(seconds), 1e3);
      say(
        `${one.op} ${one.shape.name}: ${time.median.toPrecision(3)} ms, ${(bytes.least / time.median / 1e6).toPrecision(3)} GB/s`,
      );
      return {
        format: 1,
        run: facts,
        backend: stream.backend,
        level,
        contender: OURS,
        ...one,
        threads: 0,
        metric: "time",
        unit: "ms",
        time,
        repetitions,
        bytes,
        error: {},
      };
    },
  );
}
