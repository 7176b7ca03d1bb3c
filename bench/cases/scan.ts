// Advantages and returns along token rows.
import { unstated } from "../accuracy/budgets";
import { largest } from "../accuracy/inputs";
import type { Budget } from "../accuracy/measure";
import { rng } from "../../test/support/rng";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import { errorOf } from "../harness/check";
import type { PeerOutput, PeerTask } from "../peers/task";
import { ROLLOUTS } from "../shapes";
import { advantagesOf, type RecurrenceInput } from "./linear-time";
import { poison } from "./poison";

/** Rewards and values read with their mask, advantages and returns written. */
const GAE_BYTES = { perStep: 17, formula: "17·steps (4 + 4 + 1 read, 4 + 4 written)" };
/** Rewards read with their mask, returns written. */
const RETURNS_BYTES = { perStep: 9, formula: "9·steps (4 + 1 read, 4 written)" };

interface Rollouts extends RecurrenceInput {
  readonly rewards: Float32Array;
  readonly values: Float32Array;
  readonly mask: Uint8Array;
}

/** A block of random numbers, over and over: drawing millions takes longer than the bench. */
function noise(length: number, seed: number, std: number): Float32Array {
  const out = new Float32Array(length);
  const block = rng(seed).normal(Math.min(length, 1 << 20), 0, std);
  for (let begin = 0; begin < length; begin += block.length)
    out.set(block.subarray(0, Math.min(block.length, length - begin)), begin);
  return out;
}

/** The last eighth of every row is padding. */
export function rollouts(rows: number, steps: number, gamma: number, lambda: number): Rollouts {
  const mask = new Uint8Array(rows * steps).fill(1);
  for (let b = 0; b < rows; ++b) mask.fill(0, b * steps + Math.floor((steps * 7) / 8), (b + 1) * steps);
  return { rewards: noise(rows * steps, 1, 0.01), values: noise(rows * steps, 2, 1), mask, rows, steps, gamma, lambda };
}

/** 1e-6 of the largest advantage, whatever the length of the row. */
function budgetOf(wanted: Float64Array): Budget {
  const allowed = 1e-6 * largest(wanted);
  return { says: "1e-6 of the largest", allowed: () => allowed };
}

type Wanted = Readonly<Record<"advantages" | "returns", Float64Array>>;

function errorsOf(wanted: Partial<Wanted>, got: Readonly<Record<string, PeerOutput>>, budgeted: boolean): Errors {
  return Object.fromEntries(
    Object.entries(wanted).map(([name, values]) => [
      name,
      errorOf(got[name]!, { values, budget: budgeted ? budgetOf(values) : unstated }),
    ]),
  );
}

function gaeWanted(data: Rollouts): Wanted {
  const advantages = advantagesOf(data);
  return { advantages, returns: advantages.map((a, i) => (data.mask[i] === 0 ? 0 : a + data.values[i]!)) };
}

export function gaeSubject(rows: number, steps: number, gamma: number, lambda: number, peers: boolean): Subject {
  const data = rollouts(rows, steps, gamma, lambda);
  const { rewards, values, mask } = data;
  const n = rows * steps;
  const scratch = [new Float32Array(n), new Float32Array(n)] as const;
  let wanted: Wanted | undefined;
  const check = (got: Readonly<Record<string, PeerOutput>>, budgeted: boolean): Errors =>
    errorsOf((wanted ??= gaeWanted(data)), got, budgeted);
  return {
    ours: (lib) => {
      const out = { advantages: new Float32Array(n), returns: new Float32Array(n) };
      const options = { shape: [rows, steps] as const, mask, gamma, lambda, out, backend: "cpu" as const };
      return {
        name: "gae",
        prepare: () => poison(out.advantages, out.returns),
        run: () => void lib.gae(rewards, values, options),
        check: () => check(out, true),
      };
    },
    roof: {
      kind: "streamed copy",
      bytes: GAE_BYTES.perStep * n,
      run: (roof, threads) => {
        roof.read([mask], threads);
        roof.copyStreamed(scratch[0], rewards, threads);
        roof.copyStreamed(scratch[1], values, threads);
      },
    },
    ...(peers && {
      task: {
        kind: "gae",
        arrays: { rewards, values, mask },
        numbers: { rows, steps, gamma, lambda },
        check: (outputs) => check(outputs, false),
      } satisfies PeerTask,
    }),
  };
}

export function returnsSubject(rows: number, steps: number): Subject {
  const data = rollouts(rows, steps, 0.99, 1);
  const { rewards, mask } = data;
  const n = rows * steps;
  const scratch = new Float32Array(n);
  let wanted: Float64Array | undefined;
  return {
    ours: (lib: Library): Work => {
      const returns = new Float32Array(n);
      const options = {
        shape: [rows, steps] as const,
        mask,
        gamma: data.gamma,
        out: { returns },
        backend: "cpu" as const,
      };
      return {
        name: "returns",
        prepare: () => poison(returns),
        run: () => void lib.discountedReturns(rewards, options),
        check: () =>
          errorsOf(
            { returns: (wanted ??= advantagesOf({ rewards, mask, rows, steps, gamma: data.gamma, lambda: 1 })) },
            { returns },
            true,
          ),
      };
    },
    roof: {
      kind: "streamed copy",
      bytes: RETURNS_BYTES.perStep * n,
      run: (roof, threads) => {
        roof.read([mask], threads);
        roof.copyStreamed(scratch, rewards, threads);
      },
    },
  };
}

type Rollout = (typeof ROLLOUTS)[keyof typeof ROLLOUTS];

function gaeCase(
  shape: Rollout,
  flags: { gamma?: number; lambda?: number; threads?: number; quick?: boolean; peers?: boolean },
): Case {
  const { gamma = 1, lambda = 0.95, threads = 1, quick = false, peers = false } = flags;
  const [rows, steps] = shape.sizes;
  return {
    kernel: "scan",
    op: "gae",
    dtype: "float32",
    rowKind: `γ = ${gamma}, λ = ${lambda}`,
    shape,
    threads,
    quick,
    least: { bytes: GAE_BYTES.perStep * rows * steps, formula: GAE_BYTES.formula },
    prepare: () => gaeSubject(rows, steps, gamma, lambda, peers),
  };
}

export function scanCases(): Case[] {
  const { batch, long, single, short, odd } = ROLLOUTS;
  return [
    gaeCase(batch, { quick: true, peers: true }),
    gaeCase(long, {}),
    gaeCase(long, { lambda: 1, quick: true }),
    gaeCase(single, {}),
    gaeCase(short, {}),
    gaeCase(odd, {}),
    gaeCase(batch, { threads: 2 }),
    ...[batch, long, single, short, odd].map((shape): Case => {
      const [rows, steps] = shape.sizes;
      return {
        kernel: "scan",
        op: "discountedReturns",
        dtype: "float32",
        rowKind: "γ = 0.99",
        shape,
        threads: 1,
        least: { bytes: RETURNS_BYTES.perStep * rows * steps, formula: RETURNS_BYTES.formula },
        prepare: () => returnsSubject(rows, steps),
      };
    }),
  ];
}
