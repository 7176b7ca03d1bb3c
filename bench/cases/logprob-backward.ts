// Gradients of log-probs and entropies back to the logits: beside them and in their place.
import type { Budget } from "../accuracy/measure";
import { roundingOf, unstated } from "../accuracy/budgets";
import { fromHalfBits } from "../../lib/core/half";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import { errorOf } from "../harness/check";
import type { PeerOutput } from "../peers/task";
import type { ErrorFigure } from "../record";
import { LOGITS } from "../shapes";
import { LOGIT_BYTES } from "./logprob-forward";
import {
  forwardWanted,
  gradientWanted,
  type LogitBatch,
  logitBatch,
  type LogitDType,
  type LogitMemory,
  ROW_KINDS,
  type RowKind,
} from "./logit-rows";
import { poison } from "./poison";

/** Logits read, gradients written. */
export function backwardBytes(rows: number, vocab: number, dtype: LogitDType) {
  const s = LOGIT_BYTES[dtype];
  return { bytes: 2 * s * rows * vocab, formula: `${2 * s}·rows·vocab` };
}

export type GradientCheck = (gradient: PeerOutput, budgeted: boolean) => ErrorFigure;

/** Compares period by period, so that bits of half types become numbers a few rows at a time. */
export function gradientCheck(batch: LogitBatch): GradientCheck {
  const { gradient, largest } = gradientWanted(batch);
  const budget: Budget = {
    says: "2e-6 of the row's largest, rounded",
    allowed: (want, i) => {
      const before = 2e-6 * largest[Math.floor(i / batch.vocab)]! + 1e-38;
      return before + roundingOf(batch.dtype, Math.abs(want) + before);
    },
  };
  return (got, budgeted) => errorOf(got, { values: gradient, budget: budgeted ? budget : unstated });
}

/** Numbers of an array of bits, as they are asked for. */
export function asNumbers(memory: LogitMemory, dtype: LogitDType): PeerOutput {
  if (dtype === "float32") return memory;
  return { length: memory.length, subarray: (begin, end) => fromHalfBits(memory.subarray(begin, end), dtype) };
}

function backwardWork(batch: LogitBatch, inPlace: boolean, lib: Library, checkOf: () => GradientCheck): Work {
  const { rows, vocab, dtype, targets, gradLogProbs, gradEntropies } = batch;
  const shape = [rows, vocab] as const;
  const state = lib.logprob(batch.logits, targets, { shape, dtype, backend: "cpu" });
  const out = batch.logits.slice();
  const logits = inPlace ? out : batch.logits;
  const options = { shape, dtype, gradLogProbs, gradEntropies, out, backend: "cpu" as const };
  return {
    name: "backward",
    prepare: () => {
      if (inPlace) out.set(batch.logits);
      else poison(out);
    },
    run: () => void lib.logprobBackward(logits, targets, state, options),
    check: (): Errors => ({ gradient: checkOf()(asNumbers(out, dtype), true) }),
  };
}

export function backwardSubject(
  rows: number,
  vocab: number,
  dtype: LogitDType,
  kind: RowKind,
  inPlace: boolean,
  peers: boolean,
): Subject {
  const batch = logitBatch(rows, vocab, dtype, kind);
  let check: GradientCheck | undefined;
  const checkOf = (): GradientCheck => (check ??= gradientCheck(batch));
  const { logits, targets, gradLogProbs, gradEntropies } = batch;
  const scratch = inPlace ? undefined : logits.slice();
  const { entropies } = forwardWanted(batch);
  return {
    ours: (lib) => backwardWork(batch, inPlace, lib, checkOf),
    roof: scratch
      ? {
          kind: "streamed copy",
          bytes: 2 * logits.byteLength,
          run: (roof, threads) => roof.copyStreamed(scratch, logits, threads),
        }
      : { kind: "rewrite", bytes: 2 * logits.byteLength, run: (roof, threads) => roof.rewrite(logits, threads) },
    ...(peers && {
      task: {
        kind: "logprobBackward" as const,
        arrays: {
          logits,
          targets,
          gradLogProbs,
          gradEntropies,
          // For the peers' hand-fused form, which is given what a forward pass left.
          logSumExps: Float32Array.from({ length: rows }, (_, n) => batch.oracles[n % batch.period]!.logSumExp),
          entropies: Float32Array.from({ length: rows }, (_, n) => entropies[n % batch.period]!),
        },
        numbers: { rows, vocab },
        check: (outputs: Readonly<Record<string, PeerOutput>>): Errors => ({
          gradient: checkOf()(outputs["gradient"]!, false),
        }),
      },
    }),
  };
}

export function backwardCases(): Case[] {
  const caseOf = (
    shape: (typeof LOGITS)[keyof typeof LOGITS],
    dtype: LogitDType,
    rowKind: RowKind,
    inPlace: boolean,
    { threads = 1, quick = false }: { threads?: number; quick?: boolean } = {},
  ): Case => {
    const [rows, vocab] = shape.sizes;
    return {
      kernel: "logprob",
      op: inPlace ? "logprobBackward, in place" : "logprobBackward",
      dtype,
      rowKind,
      shape,
      threads,
      quick,
      least: backwardBytes(rows, vocab, dtype),
      // Autograd of the larger shapes would take most of a machine's memory.
      prepare: () =>
        backwardSubject(
          rows,
          vocab,
          dtype,
          rowKind,
          inPlace,
          !inPlace && shape === LOGITS.qwen && rowKind === "normal" && dtype === "float32",
        ),
    };
  };
  const { qwen, llama2 } = LOGITS;
  const dtypes: readonly LogitDType[] = ["float32", "bfloat16"];
  return dtypes.flatMap((dtype) => [
    ...ROW_KINDS.map((kind) => caseOf(qwen, dtype, kind, false, { quick: kind === "normal" && dtype === "float32" })),
    caseOf(qwen, dtype, "normal", true),
    caseOf(llama2, dtype, "normal", false),
    caseOf(qwen, dtype, "normal", false, { threads: 2 }),
  ]);
}
