// A linear head to log-probs and entropies, beside the matrix product that the logits alone would take.
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
  /** Of the different rows. */
  readonly wanted: () => { readonly logits: Float64Array; readonly logProbs: number[]; readonly entropies: number[] };
}

/** Logits are N(0, 2.5). */
function headOf(rows: number, dim: number, vocab: number): Head {
  const draw = rng(9);
  const period = Math.min(PERIOD, rows);
  const [states, ids] = [draw.normal(period * dim), draw.i32(period, 0, vocab)];
  const weight = draw.normal(vocab * dim, 0, 2.5 / Math.sqrt(dim));
  let found: ReturnType<Head["wanted"]> | undefined;
  return {
    hidden: Float32Array.from({ length: rows * dim }, (_, i) => states[i % states.length]!),
    weight,
    targets: Int32Array.from({ length: rows }, (_, n) => ids[n % period]!),
    rows,
    dim,
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

function workOf(head: Head, lib: Library): Work {
  const { hidden, weight, targets, rows, dim } = head;
  const shape = [rows, dim] as const;
  const out = { logProbs: new Float32Array(rows), entropies: new Float32Array(rows) };
  return {
    name: "linear head",
    prepare: () => poison(out.logProbs, out.entropies),
    run: () => void lib.linearLogprob(hidden, weight, targets, { shape, out, backend: "cpu" }),
    check: () => errorsOf(head, out, MILLIONTH),
  };
}

export function linearSubject(rows: number, dim: number, vocab: number): Subject {
  const head = headOf(rows, dim, vocab);
  const { hidden, weight } = head;
  return {
    ours: (lib) => workOf(head, lib),
    task: {
      kind: "linear",
      arrays: { hidden, weight },
      numbers: { rows, dim, vocab },
      check: (outputs) => errorsOf(head, outputs, unstated),
    },
  };
}

export function linearCases(): Case[] {
  return Object.values(HEADS).map((shape) => {
    const [rows, dim, vocab] = shape.sizes;
    return {
      kernel: "linear",
      op: "linearLogprob",
      dtype: "float32",
      rowKind: "normal",
      shape,
      threads: 1,
      quick: shape === HEADS.few,
      prepare: () => linearSubject(rows, dim, vocab),
    };
  });
}
