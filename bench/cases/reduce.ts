// Statistics of masked tokens, and maps by them.
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import { errorOf } from "../harness/check";
import type { PeerTask } from "../peers/task";
import type { Roof } from "../roof/roof";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { TOKEN_ROWS, type TokenBatch, tokenBatch } from "./tokens";

const SUMS: Budget = { says: "1e-10·|x|", allowed: (want) => 1e-10 * Math.abs(want) };
const ONCE: Budget = { says: "1e-6·|x| + 1e-6", allowed: (want) => 1e-6 * Math.abs(want) + 1e-6 };
const VARIANCE_EPSILON = 1e-8;

/** [count, mean, M2, min, max] of the kept numbers: with a correction for what each addition lost. */
function definition({ values, mask }: TokenBatch): Float64Array {
  const total = (of: (x: number) => number): number => {
    let [sum, lost] = [0, 0];
    for (let i = 0; i < values.length; ++i) {
      if (mask[i] === 0) continue;
      const term = of(values[i]!) - lost;
      const next = sum + term;
      lost = next - sum - term;
      sum = next;
    }
    return sum;
  };
  const kept = values.filter((_, i) => mask[i] !== 0).sort();
  const mean = total((x) => x) / kept.length;
  return Float64Array.of(
    kept.length,
    mean,
    total((x) => (x - mean) ** 2),
    kept[0]!,
    kept[kept.length - 1]!,
  );
}

function mapped({ values, mask }: TokenBatch, map: (x: number) => number): Float64Array {
  return Float64Array.from(values, (x, i) => (mask[i] === 0 ? 0 : map(x)));
}

const streamed =
  ({ values, mask }: TokenBatch, scratch: Float32Array) =>
  (roof: Roof, threads: number): void => {
    roof.read([mask], threads);
    roof.copyStreamed(scratch, values, threads);
  };

function momentsSubject(batch: TokenBatch): Subject {
  const { rows, steps, values, mask } = batch;
  let found: Float64Array | undefined;
  const wanted = (): Float64Array => (found ??= definition(batch));
  return {
    ours: (lib) => {
      const options = { shape: [rows, steps] as const, mask, over: "all", backend: "cpu" } as const;
      let answer: ReturnType<Library["moments"]>;
      return {
        name: "moments",
        run: () => void (answer = lib.moments(values, options)),
        check: () => {
          const { counts, means, m2s, mins, maxs } = answer;
          return {
            moments: errorOf(Float64Array.of(counts[0]!, means[0]!, m2s[0]!, mins[0]!, maxs[0]!), {
              values: wanted(),
              budget: SUMS,
            }),
          };
        },
      };
    },
    roof: { kind: "read", bytes: 5 * values.length, run: (roof, threads) => roof.read([values, mask], threads) },
    task: {
      kind: "moments",
      arrays: { values, mask },
      numbers: { rows, steps },
      check: ({ moments }) => ({ moments: errorOf(moments!, { values: wanted(), budget: unstated }) }),
    } satisfies PeerTask,
  };
}

type Run = (lib: Library, out: Float32Array) => void;

function mapSubject(
  name: string,
  batch: TokenBatch,
  definitionOf: () => Float64Array,
  bytes: number,
  run: Run,
  task?: "whiten",
): Subject {
  const { rows, steps, values, mask } = batch;
  const scratch = new Float32Array(values.length);
  let found: Float64Array | undefined;
  const wanted = (): Float64Array => (found ??= definitionOf());
  const ours = (lib: Library): Work => {
    const out = new Float32Array(values.length);
    return {
      name,
      prepare: () => poison(out),
      run: () => run(lib, out),
      check: () => ({ mapped: errorOf(out, { values: wanted(), budget: ONCE }) }),
    };
  };
  const copy = streamed(batch, scratch);
  return {
    ours,
    roof: {
      kind: "streamed copy",
      bytes,
      run: (roof, threads) => {
        if (bytes > 9 * values.length) roof.read([values, mask], threads);
        copy(roof, threads);
      },
    },
    ...(task && {
      task: {
        kind: task,
        arrays: { values, mask },
        numbers: { rows, steps, epsilon: VARIANCE_EPSILON },
        check: (outputs) => ({ mapped: errorOf(outputs["mapped"]!, { values: wanted(), budget: unstated }) }),
      } satisfies PeerTask,
    }),
  };
}

function whitened(batch: TokenBatch): Float64Array {
  const [count, mean, m2] = definition(batch) as unknown as readonly [number, number, number];
  const divisor = Math.sqrt(m2 / (count - 1) + VARIANCE_EPSILON);
  return mapped(batch, (x) => (x - mean) / divisor);
}

export function reduceCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const n = rows * steps;
  const common = { kernel: "reduce", ...TOKEN_ROWS, shape } as const;
  const once = { bytes: 9 * n, formula: "9·tokens (4 + 1 read, 4 written)" };
  const layout = ({ mask }: TokenBatch) => ({ shape: [rows, steps] as const, mask, backend: "cpu" as const });
  const [low, high] = [0.05, 1.5];
  const centers = Float64Array.from({ length: rows }, (_, b) => b / rows);
  const scales = Float64Array.from({ length: rows }, (_, b) => 1 + b / rows);
  return [
    {
      ...common,
      op: "moments",
      least: { bytes: 5 * n, formula: "5·tokens (4 + 1 read)" },
      prepare: () => momentsSubject(tokenBatch(rows, steps)),
    },
    {
      ...common,
      op: "whiten",
      least: { bytes: 14 * n, formula: "14·tokens (4 + 1 read twice, 4 written)" },
      prepare: () => {
        const batch = tokenBatch(rows, steps);
        return mapSubject(
          "whiten",
          batch,
          () => whitened(batch),
          14 * n,
          (lib, out) => void lib.whiten(batch.values, { ...layout(batch), over: "all", out: { whitened: out } }),
          "whiten",
        );
      },
    },
    {
      ...common,
      op: "affine",
      least: once,
      prepare: () => {
        const batch = tokenBatch(rows, steps);
        const definitionOf = () =>
          Float64Array.from(batch.values, (x, i) =>
            batch.mask[i] === 0 ? 0 : (x - centers[Math.floor(i / steps)]!) * scales[Math.floor(i / steps)]!,
          );
        return mapSubject(
          "affine",
          batch,
          definitionOf,
          9 * n,
          (lib, out) =>
            void lib.affine(batch.values, { ...layout(batch), center: centers, scale: scales, out: { mapped: out } }),
        );
      },
    },
    {
      ...common,
      op: "clamp",
      least: once,
      prepare: () => {
        const batch = tokenBatch(rows, steps);
        return mapSubject(
          "clamp",
          batch,
          () => mapped(batch, (x) => Math.min(Math.max(x, low), high)),
          9 * n,
          (lib, out) => void lib.clamp(batch.values, { ...layout(batch), low, high, out: { clamped: out } }),
        );
      },
    },
  ];
}
