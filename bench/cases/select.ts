// Masks of the tokens that rank highest.
import { exact, unstated } from "../accuracy/budgets";
import type { Library } from "../harness/build";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import type { PeerTask } from "../peers/task";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { TOKEN_ROWS, type TokenBatch, tokenBatch } from "./tokens";

const SHARE = 0.2;

type Unit = readonly [begin: number, end: number];
const unitsOf = ({ rows, steps }: TokenBatch, over: "row" | "all"): Unit[] =>
  over === "all" ? [[0, rows * steps]] : Array.from({ length: rows }, (_, b) => [b * steps, (b + 1) * steps]);

/** Of each unit, from its sorted kept values; a NaN threshold would select nothing. */
function flagsOf(batch: TokenBatch, over: "row" | "all", which: "quantile" | "top"): Uint8Array {
  const { values, mask } = batch;
  const flags = new Uint8Array(values.length);
  for (const [begin, end] of unitsOf(batch, over)) {
    const sorted = values
      .subarray(begin, end)
      .filter((_, i) => mask[begin + i] !== 0)
      .sort();
    const k = Math.floor(SHARE * sorted.length);
    const rank = (1 - SHARE) * (sorted.length - 1);
    const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
    const threshold = which === "top" ? sorted[sorted.length - k]! : low + (rank % 1) * (high - low);
    let equals = which === "top" ? k - sorted.filter((x) => x > threshold).length : Infinity;
    for (let i = begin; i < end; ++i)
      if (mask[i] !== 0 && (values[i]! > threshold || (values[i]! === threshold && equals-- > 0))) flags[i] = 1;
  }
  return flags;
}

/** Advantages alternate in sign from row to row. */
const advantagesOf = ({ rows }: TokenBatch): Float32Array =>
  Float32Array.from({ length: rows }, (_, b) => (b % 2 === 0 ? 1 : -1) * (1 + b / rows));
const BETWEEN = [0.5, 1] as const;

function covarianceFlags(batch: TokenBatch): Uint8Array {
  const { values, mask, steps, kept } = batch;
  const advantages = advantagesOf(batch);
  const rowOf = (i: number): number => Math.floor(i / steps);
  const mean = (of: (i: number) => number): number =>
    values.reduce((sum, _, i) => (mask[i] === 0 ? sum : sum + of(i)), 0) / kept;
  const [level, middle] = [mean((i) => advantages[rowOf(i)]!), mean((i) => values[i]!)];
  return Uint8Array.from(values, (x, i) => {
    const covariance = (advantages[rowOf(i)]! - level) * (x - middle);
    return mask[i] !== 0 && covariance > BETWEEN[0] && covariance < BETWEEN[1] ? 1 : 0;
  });
}

type Run = (lib: Library, batch: TokenBatch, selected: Uint8Array) => void;

function subject(
  name: string,
  batch: TokenBatch,
  definition: () => Uint8Array,
  run: Run,
  peer?: "quantileMask",
): Subject {
  const { values, mask } = batch;
  const scratch = new Uint8Array(mask.length);
  let found: Uint8Array | undefined;
  const wanted = (): Uint8Array => (found ??= definition());
  return {
    ours: (lib) => {
      const selected = new Uint8Array(mask.length);
      return {
        name,
        prepare: () => poison(selected),
        run: () => run(lib, batch, selected),
        check: () => ({ selected: errorOf(selected, { values: wanted(), budget: exact }) }),
      };
    },
    roof: {
      kind: "read and copy",
      bytes: 6 * values.length,
      run: (roof, threads) => {
        roof.read([values], threads);
        roof.copy(scratch, mask, threads);
      },
    },
    ...(peer && {
      task: {
        kind: peer,
        arrays: { values, mask },
        numbers: { q: 1 - SHARE },
        check: ({ selected }) => ({ selected: errorOf(selected!, { values: wanted(), budget: unstated }) }),
      } satisfies PeerTask,
    }),
  };
}

export function selectCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const n = rows * steps;
  const common = {
    kernel: "select",
    ...TOKEN_ROWS,
    shape,
    least: { bytes: 6 * n, formula: "6·tokens (4 + 1 read, 1 written)" },
  } as const;
  const layout = ({ mask }: TokenBatch) => ({ shape: [rows, steps] as const, mask, backend: "cpu" as const });
  const ranked = (["all", "row"] as const).flatMap((over): Case[] => [
    {
      ...common,
      op: `quantileMask, over ${over}`,
      prepare: () => {
        const run: Run = (lib, batch, selected) =>
          void lib.quantileMask(batch.values, { ...layout(batch), over, q: 1 - SHARE, out: { selected } });
        const batch = tokenBatch(rows, steps);
        return subject(
          "quantileMask",
          batch,
          () => flagsOf(batch, over, "quantile"),
          run,
          ...(over === "all" ? ["quantileMask" as const] : []),
        );
      },
    },
    {
      ...common,
      op: `topMask, over ${over}`,
      prepare: () => {
        const run: Run = (lib, batch, selected) =>
          void lib.topMask(batch.values, { ...layout(batch), over, share: SHARE, out: { selected } });
        const batch = tokenBatch(rows, steps);
        return subject("topMask", batch, () => flagsOf(batch, over, "top"), run);
      },
    },
  ]);
  return [
    ...ranked,
    {
      ...common,
      op: "covarianceMask, between",
      prepare: () => {
        const batch = tokenBatch(rows, steps);
        const advantages = advantagesOf(batch);
        const run: Run = (lib, { values }, selected) =>
          void lib.covarianceMask(values, advantages, { ...layout(batch), between: BETWEEN, out: { selected } });
        return subject("covarianceMask", batch, () => covarianceFlags(batch), run);
      },
    },
  ];
}
