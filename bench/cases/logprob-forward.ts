// Logits to log-probs, entropies and log-sum-exps.
import type { Budget } from "../accuracy/measure";
import { unstated } from "../accuracy/budgets";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import { errorOf, MILLIONTH } from "../harness/check";
import type { PeerOutput, PeerTask } from "../peers/task";
import { LOGITS } from "../shapes";
import { forwardWanted, type LogitBatch, logitBatch, type LogitDType, ROW_KINDS, type RowKind } from "./logit-rows";
import { poison } from "./poison";

export const LOGIT_BYTES: Readonly<Record<LogitDType, number>> = { float32: 4, bfloat16: 2 };

/** Logits and targets read, three float32 written. */
export function forwardBytes(rows: number, vocab: number, dtype: LogitDType) {
  const s = LOGIT_BYTES[dtype];
  return { bytes: rows * (s * vocab + 4 + 12), formula: `${s}·rows·vocab + 4·rows + 12·rows` };
}

type Names = "logProbs" | "entropies";

function errorsOf(batch: LogitBatch, got: Readonly<Record<string, PeerOutput>>, budget: Budget): Errors {
  const wanted = forwardWanted(batch);
  const names = (["logProbs", "entropies"] satisfies Names[]).filter((name) => got[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, errorOf(got[name]!, { values: wanted[name], budget })]));
}

function forwardWork(batch: LogitBatch, lib: Library, prepare?: () => void): Work {
  const { rows, vocab, dtype, logits, targets } = batch;
  // The seven results, as a trainer that calls step after step holds them.
  const out = lib.logprob(new Float32Array(rows), new Int32Array(rows), { shape: [rows, 1], backend: "cpu" });
  const options = { shape: [rows, vocab] as const, dtype, out, backend: "cpu" as const };
  return {
    name: "forward",
    prepare: () => {
      poison(...Object.values(out));
      prepare?.();
    },
    run: () => void lib.logprob(logits, targets, options),
    check: () => errorsOf(batch, { ...out }, MILLIONTH),
  };
}

function forwardTask(batch: LogitBatch): PeerTask {
  const { rows, vocab, dtype, logits, targets } = batch;
  return {
    kind: "logprob",
    arrays: { logits, targets },
    numbers: { rows, vocab },
    ...(dtype === "bfloat16" && { bfloat16: ["logits"] }),
    check: (outputs) => errorsOf(batch, outputs, unstated),
    cut: (count) =>
      count >= rows
        ? forwardTask(batch)
        : forwardTask({
            ...batch,
            rows: count,
            period: Math.min(batch.period, count),
            oracles: batch.oracles.slice(0, count),
            logits: logits.subarray(0, count * vocab),
            targets: targets.subarray(0, count),
          }),
  };
}

export interface Company {
  /** Plain rows beside the masked ones. */
  readonly plain: boolean;
  readonly peers: boolean;
}

export function forwardSubject(
  rows: number,
  vocab: number,
  dtype: LogitDType,
  kind: RowKind,
  company: Company,
): Subject {
  const batch = logitBatch(rows, vocab, dtype, kind);
  const plain = company.plain ? logitBatch(rows, vocab, dtype, "normal") : undefined;
  return {
    ours: (lib) => forwardWork(batch, lib),
    ...(plain && { beside: { "surprisal on rows without −∞": (lib: Library) => forwardWork(plain, lib) } }),
    roof: { kind: "read", bytes: batch.logits.byteLength, run: (roof, threads) => roof.read([batch.logits], threads) },
    ...(company.peers && { task: forwardTask(batch) }),
  };
}

function caseOf(
  shape: (typeof LOGITS)[keyof typeof LOGITS],
  dtype: LogitDType,
  rowKind: RowKind,
  { threads = 1, ...flags }: { threads?: number; quick?: boolean; levels?: boolean } = {},
): Case {
  const [rows, vocab] = shape.sizes;
  const large = shape === LOGITS.qwen;
  // Of others, time does not depend on the rows; how right they are does, where a token is nearly certain.
  const company = {
    plain: rowKind === "masked" && large,
    peers: rowKind === "normal" || (rowKind === "peaky" && large),
  };
  return {
    kernel: "logprob",
    op: "logprob",
    dtype,
    rowKind,
    shape,
    threads,
    least: forwardBytes(rows, vocab, dtype),
    ...flags,
    prepare: () => forwardSubject(rows, vocab, dtype, rowKind, company),
  };
}

export function forwardCases(): Case[] {
  const { qwen, llama2, small, oneToken, fewTokens } = LOGITS;
  const dtypes: readonly LogitDType[] = ["float32", "bfloat16"];
  return dtypes.flatMap((dtype) => [
    caseOf(qwen, dtype, "normal", { quick: true, levels: dtype === "float32" }),
    caseOf(qwen, dtype, "peaky"),
    caseOf(qwen, dtype, "masked", { quick: dtype === "float32" }),
    ...[llama2, small].flatMap((shape) => ROW_KINDS.map((kind) => caseOf(shape, dtype, kind))),
    ...[oneToken, fewTokens].map((shape) => caseOf(shape, dtype, "normal")),
    caseOf(qwen, dtype, "normal", { threads: 2 }),
  ]);
}
