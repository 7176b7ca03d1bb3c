// Ratios of two policies: of whole sequences, with and without the clipped objective's gradient.
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import { clippedObjectiveOracle, logRatioOracle, paddedRows } from "../../test/oracle/ratio";
import { rng } from "../../test/support/rng";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import type { Library } from "../harness/build";
import { errorOf } from "../harness/check";
import type { PeerOutput, PeerTask } from "../peers/task";
import { ROLLOUTS, SMALL } from "../shapes";
import { poison } from "./poison";

export const CLIP = { clipLow: 3e-4, clipHigh: 4e-4 } as const;
/** Different rows of a batch; the others repeat them. */
const PERIOD = 16;

const RELATIVE: Budget = { says: "1e-6·|x|", allowed: (want) => 1e-6 * Math.abs(want) };

interface Batch {
  readonly rows: number;
  readonly steps: number;
  readonly current: Float32Array;
  readonly old: Float32Array;
  readonly mask: Uint8Array;
  readonly advantages: Float32Array;
}

export function sequenceBatch(rows: number, steps: number): Batch {
  const [n, period] = [rows * steps, Math.min(PERIOD, rows)];
  const draw = rng(6);
  const old = new Float32Array(n);
  const current = new Float32Array(n);
  const mask = new Uint8Array(n);
  for (let b = 0; b < period; ++b) {
    const kept = Math.floor(steps * (0.5 + 0.5 * draw.uniform()));
    mask.fill(1, b * steps, b * steps + kept);
  }
  // A row's mean ratio is within a few clip widths of 1, so that some rows are clipped on either side.
  for (let i = 0; i < period * steps; ++i) {
    old[i] = -2 * draw.uniform();
    current[i] = old[i]! + 0.02 * (draw.uniform() - 0.5);
  }
  const advantages = Float32Array.from({ length: period }, () => 2 * draw.uniform() - 1);
  for (let have = period * steps; have < n; have *= 2)
    for (const array of [old, current, mask]) array.copyWithin(have, 0, Math.min(have, n - have));
  return {
    rows,
    steps,
    current,
    old,
    mask,
    advantages: Float32Array.from({ length: rows }, (_, b) => advantages[b % period]!),
  };
}

function definition(
  { rows, steps, current, old, mask, advantages }: Batch,
  level: "token" | "sequence",
  weight: number,
) {
  const period = Math.min(PERIOD, rows);
  const batch = {
    current: current.subarray(0, period * steps),
    old,
    rows: paddedRows([period, steps], mask),
    advantage: (row: number) => advantages[row]!,
  };
  const { gradLogProbs } = clippedObjectiveOracle(batch, {
    ...CLIP,
    level,
    weights: new Array<number>(period).fill(weight),
  });
  return { ratios: logRatioOracle(batch, "sequence").map(Math.exp), gradLogProbs };
}

type Definition = ReturnType<typeof definition>;

function gradientError(got: PeerOutput, { gradLogProbs }: Definition, budgeted: boolean) {
  const largest = gradLogProbs.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
  const budget: Budget = { says: "2e-6 of the largest", allowed: () => 2e-6 * largest };
  return errorOf(got, { values: gradLogProbs, budget: budgeted ? budget : unstated });
}

function ratioWork({ rows, steps, current, old, mask }: Batch, wanted: () => Definition, lib: Library): Work {
  const out = { logRatios: new Float32Array(rows), ratios: new Float32Array(rows) };
  const options = { level: "sequence" as const, shape: [rows, steps] as const, mask, out, backend: "cpu" as const };
  return {
    name: "logRatio",
    prepare: () => poison(out.logRatios, out.ratios),
    run: () => void lib.logRatio(current, old, options),
    check: () => ({ ratios: errorOf(out.ratios, { values: wanted().ratios, budget: RELATIVE }) }),
  };
}

function objectiveWork(
  batch: Batch,
  level: "token" | "sequence",
  wanted: () => Definition,
  lib: Library,
  backend: "cpu" | "auto" = "cpu",
): Work {
  const { rows, steps, current, old, mask, advantages } = batch;
  const out = {
    gradLogProbs: new Float32Array(rows * steps),
    ratios: new Float32Array(level === "token" ? rows * steps : rows),
  };
  const outputs = ["gradLogProbs", "ratios"] as const;
  const options = { level, shape: [rows, steps] as const, mask, ...CLIP, outputs, out, backend };
  return {
    name: "clippedObjective",
    prepare: () => poison(out.gradLogProbs, out.ratios),
    run: () => void lib.clippedObjective(current, old, advantages, options),
    check: (): Errors => ({
      gradLogProbs: gradientError(out.gradLogProbs, wanted(), true),
      ...(level === "sequence" && { ratios: errorOf(out.ratios, { values: wanted().ratios, budget: RELATIVE }) }),
    }),
  };
}

export function sequenceSubject(rows: number, steps: number, withGradient: boolean): Subject {
  const batch = sequenceBatch(rows, steps);
  const { current, old, mask, advantages } = batch;
  const scratch = new Float32Array(withGradient ? current.length : 0);
  let found: Definition | undefined;
  const wanted = (): Definition => (found ??= definition(batch, "sequence", 1 / rows));
  const task: PeerTask = {
    kind: withGradient ? "sequenceGradient" : "sequenceRatio",
    arrays: { current, old, mask, advantages },
    numbers: { rows, steps, ...CLIP },
    check: (outputs): Errors =>
      withGradient
        ? { gradLogProbs: gradientError(outputs["gradLogProbs"]!, wanted(), false) }
        : { ratios: errorOf(outputs["ratios"]!, { values: wanted().ratios, budget: unstated }) },
  };
  return {
    ours: (lib) => (withGradient ? objectiveWork(batch, "sequence", wanted, lib) : ratioWork(batch, wanted, lib)),
    roof: withGradient
      ? {
          kind: "read and copy",
          bytes: 13 * current.length,
          run: (roof, threads) => {
            roof.read([old, mask], threads);
            roof.copy(scratch, current, threads);
          },
        }
      : { kind: "read", bytes: 9 * current.length, run: (roof, threads) => roof.read([current, old, mask], threads) },
    task,
  };
}

export function ratioCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const common = {
    kernel: "ratio",
    dtype: "float32",
    rowKind: "half to all of a row kept",
    shape,
    threads: 1,
    quick: true,
  } as const;
  const n = rows * steps;
  return [
    {
      ...common,
      op: "logRatio, sequence",
      least: { bytes: 9 * n, formula: "9·tokens (4 + 4 + 1 read)" },
      prepare: () => sequenceSubject(rows, steps, false),
    },
    {
      ...common,
      op: "clippedObjective, sequence, with gradient",
      least: { bytes: 13 * n, formula: "13·tokens (4 + 4 + 1 read, 4 written)" },
      prepare: () => sequenceSubject(rows, steps, true),
    },
  ];
}

/** What a call costs when there is next to nothing to compute. */
export function ratioOverheadCase(level: "token" | "sequence"): Case {
  const shape = SMALL.ratio;
  const [rows, steps] = shape.sizes;
  return {
    kernel: "ratio",
    op: `clippedObjective, ${level}, call overhead`,
    dtype: "float32",
    rowKind: "half to all of a row kept",
    shape,
    threads: 1,
    quick: true,
    prepare: () => {
      // A period of all rows: the weight of a token is one over the kept tokens of the batch.
      const batch = sequenceBatch(rows, steps);
      const kept = batch.mask.reduce((sum, k) => sum + k, 0);
      const wanted = (): Definition => definition(batch, level, 1 / (level === "token" ? kept : rows));
      return { ours: (lib) => objectiveWork(batch, level, wanted, lib, "auto") };
    },
  };
}
