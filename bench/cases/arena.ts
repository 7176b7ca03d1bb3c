// What memory costs a call that fills a large output: from an arena, and into new arrays, beside memory that was used before.
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import { REUSED } from "../harness/names";
import { LOGITS } from "../shapes";
import { asNumbers, backwardBytes, gradientCheck } from "./logprob-backward";
import { type LogitBatch, logitBatch, type LogitMemory } from "./logit-rows";
import { poison } from "./poison";

/** How a call gets memory for its gradient; `done` ends its step. */
interface Memory {
  readonly option: { readonly arena?: ReturnType<Library["createArena"]>; readonly out?: LogitMemory };
  readonly done?: () => void;
}

function workOf(batch: LogitBatch, lib: Library, memory: Memory, check: () => ReturnType<typeof gradientCheck>): Work {
  const { logits, targets, rows, vocab, dtype, gradLogProbs, gradEntropies } = batch;
  const shape = [rows, vocab] as const;
  const state = lib.logprob(logits, targets, { shape, dtype, backend: "cpu" });
  const options = { shape, dtype, gradLogProbs, gradEntropies, backend: "cpu" as const, ...memory.option };
  let gradient: LogitMemory | undefined;
  return {
    name: "backward",
    // The step before ends ahead of the run: what is timed is the call.
    prepare: () => {
      if (memory.option.out) poison(memory.option.out);
      gradient = undefined;
      memory.done?.();
    },
    run: () => {
      gradient = undefined;
      memory.done?.();
      gradient = lib.logprobBackward<LogitMemory>(logits, targets, state, options);
    },
    check: () => ({ gradient: check()(gradient ? asNumbers(gradient, dtype) : new Float32Array(logits.length), true) }),
  };
}

export function arenaSubject(rows: number, vocab: number, from: "an arena" | "new arrays"): Subject {
  const batch = logitBatch(rows, vocab, "float32", "normal");
  let found: ReturnType<typeof gradientCheck> | undefined;
  const check = () => (found ??= gradientCheck(batch));
  const given = (lib: Library): Memory | undefined => {
    if (from === "new arrays") return { option: {} };
    const arena = (lib as Partial<Library>).createArena?.();
    return arena && { option: { arena }, done: () => arena.reset() };
  };
  return {
    ours: (lib) => {
      const memory = given(lib);
      return memory && workOf(batch, lib, memory, check);
    },
    beside: { [REUSED]: (lib) => workOf(batch, lib, { option: { out: batch.logits.slice() } }, check) },
  };
}

export function arenaCases(): Case[] {
  const [rows, vocab] = LOGITS.qwen.sizes;
  return (["an arena", "new arrays"] as const).map((from) => ({
    kernel: "memory",
    quick: from === "an arena",
    op: `logprobBackward, ${from === "an arena" ? "from an arena" : "into new arrays"}`,
    dtype: "float32",
    rowKind: "normal",
    shape: LOGITS.qwen,
    threads: 1,
    least: backwardBytes(rows, vocab, "float32"),
    prepare: () => arenaSubject(rows, vocab, from),
  }));
}
