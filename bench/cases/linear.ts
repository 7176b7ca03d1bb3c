// A linear head to log-probs and entropies, beside the matrix product that the logits alone would take.
import { fromHalfBits, toHalfBits } from "../../lib/core/half";
import { headOracle } from "../../test/oracle/linear";
import { rng } from "../../test/support/rng";
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import { errorOf, MILLIONTH } from "../harness/check";
import type { PeerOutput } from "../peers/task";
import { HEADS } from "../shapes";
import { poison } from "./poison";

/** Different rows of hidden states: the others repeat them, so that every output can be held against its definition. */
const PERIOD = 16;

interface Head {
  readonly hidden: Float32Array;
  readonly weight: Float32Array;
  readonly targets: Int32Array;
  readonly rows: number;
  readonly dim: number;
  readonly vocab: number;
  /** Of the different rows. */
  readonly wanted: () => { readonly logits: Float64Array; readonly logProbs: number[]; readonly entropies: number[] };
}

/** Logits are N(0, 2.5). */
function headOf(rows: number, dim: number, vocab: number, dtype: "float32" | "bfloat16"): Head {
  const draw = rng(9);
  const period = Math.min(PERIOD, rows);
  const rounded = (numbers: Float32Array) =>
    dtype === "float32" ? numbers : fromHalfBits(toHalfBits(numbers, dtype), dtype);
  const [states, ids] = [rounded(draw.normal(period * dim)), draw.i32(period, 0, vocab)];
  const weight = rounded(draw.normal(vocab * dim, 0, 2.5 / Math.sqrt(dim)));
  let found: ReturnType<Head["wanted"]> | undefined;
  return {
    hidden: Float32Array.from({ length: rows * dim }, (_, i) => states[i % states.length]!),
    weight,
    targets: Int32Array.from({ length: rows }, (_, n) => ids[n % period]!),
    rows,
    dim,
    vocab,
    wanted: () => {
      if (found) return found;
      const oracle = headOracle({ hidden: states, weight, targets: ids, N: period, D: dim, V: vocab, map: {} });
      const logits = new Float64Array(period * vocab);
      oracle.logits.forEach((row, n) => logits.set(row, n * vocab));
      return (found = { ...oracle, logits });
    },
  };
}

function errorsOf(
  head: Head,
  got: Readonly<Partial<Record<"logits" | "logProbs" | "entropies", PeerOutput>>>,
  budget: Budget,
): Errors {
  const wanted = head.wanted();
  return Object.fromEntries(
    (["logits", "logProbs", "entropies"] as const).flatMap((name) =>
      got[name] ? [[name, errorOf(got[name], { values: wanted[name], budget })]] : [],
    ),
  );
}

type Numbers = Float32Array | Uint16Array;

/** What a call is given: the head's own numbers, or the bits of those that bfloat16 has. */
interface Given {
  readonly hidden: Numbers;
  readonly weight: Numbers;
  readonly options: { readonly shape: readonly [number, number]; readonly backend: "cpu"; readonly dtype?: "bfloat16" };
}

const optionsOf = ({ rows, dim }: Head) => ({ shape: [rows, dim], backend: "cpu" }) as const;

function asBits(head: Head): Given {
  const [hidden, weight] = [head.hidden, head.weight].map((numbers) => toHalfBits(numbers, "bfloat16"));
  return { hidden: hidden!, weight: weight!, options: { ...optionsOf(head), dtype: "bfloat16" } };
}

function forward(head: Head, { hidden, weight, options }: Given, lib: Library): Work {
  const { targets, rows } = head;
  const out = { logProbs: new Float32Array(rows), entropies: new Float32Array(rows) };
  return {
    name: "linear head",
    prepare: () => poison(out.logProbs, out.entropies),
    run: () => void lib.linearLogprob(hidden, weight, targets, { ...options, out }),
    check: () => errorsOf(head, out, MILLIONTH),
  };
}

export function linearSubject(rows: number, dim: number, vocab: number, dtype: "float32" | "bfloat16"): Subject {
  const head = headOf(rows, dim, vocab, dtype);
  const { hidden, weight } = head;
  const given = dtype === "bfloat16" ? asBits(head) : { hidden, weight, options: optionsOf(head) };
  return {
    ours: (lib) => forward(head, given, lib),
    task: {
      kind: "linear",
      arrays: { hidden, weight },
      numbers: { rows, dim, vocab },
      check: (outputs) => errorsOf(head, outputs, unstated),
    },
  };
}

/** gradHidden of the different rows, and gradWeight of all of them, in float64; each row's log-prob has the slope 1. */
function gradientsOf(head: Head) {
  const { hidden, weight, targets, rows, dim, vocab } = head;
  const { logits } = head.wanted();
  const [period, ofHidden, ofWeight] = [
    logits.length / vocab,
    new Float64Array(PERIOD * dim),
    new Float64Array(vocab * dim),
  ];
  for (let n = 0; n < period; ++n) {
    const row = logits.subarray(n * vocab, (n + 1) * vocab);
    const max = row.reduce((most, x) => Math.max(most, x), -Infinity);
    const total = row.reduce((sum, x) => sum + Math.exp(x - max), 0);
    for (let j = 0; j < vocab; ++j) {
      const g = (j === targets[n] ? 1 : 0) - Math.exp(row[j]! - max) / total;
      for (let d = 0; d < dim; ++d) {
        ofHidden[n * dim + d]! += g * weight[j * dim + d]!;
        ofWeight[j * dim + d]! += (rows / period) * g * hidden[n * dim + d]!;
      }
    }
  }
  return { gradHidden: ofHidden.subarray(0, period * dim), gradWeight: ofWeight };
}

const OF_GRADIENTS: Budget = { says: "3e-6·|x| + 1e-6", allowed: (want) => 3e-6 * Math.abs(want) + 1e-6 };

function forwardAndBackward(head: Head, lib: Library, wanted: () => ReturnType<typeof gradientsOf>): Work {
  const { hidden, weight, targets, rows, dim } = head;
  const gradLogProbs = new Float32Array(rows).fill(1);
  const out = { gradHidden: new Float32Array(rows * dim), gradWeight: new Float32Array(weight.length) };
  return {
    name: "linear head, forward and backward",
    prepare: () => poison(out.gradHidden, out.gradWeight),
    run: () => {
      const state = lib.linearLogprob(hidden, weight, targets, optionsOf(head));
      lib.linearLogprobBackward(hidden, weight, targets, state, { ...optionsOf(head), gradLogProbs, out });
    },
    check: () => {
      const { gradHidden, gradWeight } = wanted();
      return {
        gradHidden: errorOf(out.gradHidden, { values: gradHidden, budget: OF_GRADIENTS }),
        gradWeight: errorOf(out.gradWeight, { values: gradWeight, budget: OF_GRADIENTS }),
      };
    },
  };
}

export function linearGradientSubject(rows: number, dim: number, vocab: number): Subject {
  const head = headOf(rows, dim, vocab, "float32");
  const { hidden, weight } = head;
  let found: ReturnType<typeof gradientsOf> | undefined;
  return {
    ours: (lib) => forwardAndBackward(head, lib, () => (found ??= gradientsOf(head))),
    task: {
      kind: "linearGradient",
      arrays: { hidden, weight },
      numbers: { rows, dim, vocab },
      check: (outputs) => errorsOf(head, outputs, unstated),
    },
  };
}

export function linearCases(): Case[] {
  const common = { kernel: "linear", rowKind: "normal", threads: 1 } as const;
  const forwards = (["float32", "bfloat16"] as const).flatMap((dtype) =>
    Object.values(HEADS).map((shape) => {
      const [rows, dim, vocab] = shape.sizes;
      const prepare = () => linearSubject(rows, dim, vocab, dtype);
      return { ...common, op: "linearLogprob", dtype, shape, quick: shape === HEADS.few, prepare };
    }),
  );
  const [rows, dim, vocab] = HEADS.block.sizes;
  const prepare = () => linearGradientSubject(rows, dim, vocab);
  return [
    ...forwards,
    { ...common, op: "linearLogprob, forward and backward", dtype: "float32", shape: HEADS.block, prepare },
  ];
}
