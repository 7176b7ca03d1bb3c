// Spans between delimiters of long token streams.
import { exact } from "../accuracy/budgets";
import { rng } from "../../test/support/rng";
import type { Case, Subject } from "../harness/case";
import type { Errors } from "../record";
import { errorOf } from "../harness/check";
import type { PeerOutput, PeerTask } from "../peers/task";
import { TOKENS } from "../shapes";

export const START = [151_644, 77_091, 1699] as const;
export const END = [151_645] as const;
/** Ids below this are ordinary text: no delimiter is among them by chance. */
const ORDINARY = 151_640;
const FIRST = 10;
const STRIDE = 175;

/** Text with a start and an end in turns, 175 tokens apart; and where the spans must be. */
export function plantedTokens(n: number) {
  const tokens = new Int32Array(n);
  const block = rng(3).i32(Math.min(n, 1_000_003), 2000, ORDINARY);
  for (let begin = 0; begin < n; begin += block.length)
    tokens.set(block.subarray(0, Math.min(block.length, n - begin)), begin);
  const begins: number[] = [];
  const finishes: number[] = [];
  for (let at = FIRST, k = 0; at + START.length <= n; at += STRIDE, ++k) {
    if (k % 2 === 0) tokens.set(START, at);
    else {
      tokens.set(END, at);
      begins.push(at - STRIDE + START.length);
      finishes.push(at + END.length);
    }
  }
  return { tokens, begins: Int32Array.from(begins), finishes: Int32Array.from(finishes) };
}

/** The same ids as int64. Low words first, as everywhere Node runs. */
export function widened(tokens: Int32Array): BigInt64Array {
  const wide = new BigInt64Array(tokens.length);
  const words = new Int32Array(wide.buffer);
  for (let i = 0; i < tokens.length; ++i) words[2 * i] = tokens[i]!;
  return wide;
}

export function spansSubject(n: number, dtype: "int32" | "int64", peers: boolean): Subject {
  const { tokens, begins, finishes } = plantedTokens(n);
  const ids = dtype === "int32" ? tokens : widened(tokens);
  const check = (got: Readonly<Record<string, PeerOutput>>): Errors => {
    if (got["begins"]!.length !== begins.length)
      return {
        spans: {
          maxAbs: Infinity,
          maxRel: Infinity,
          budget: `${begins.length} spans, not ${got["begins"]!.length}`,
          used: Infinity,
        },
      };
    return {
      begins: errorOf(got["begins"]!, { values: begins, budget: exact }),
      finishes: errorOf(got["finishes"]!, { values: finishes, budget: exact }),
    };
  };
  const options = { start: [...START], end: [...END], capacity: begins.length, backend: "cpu" as const };
  return {
    ours: (lib) => {
      let found: Readonly<Record<"begins" | "finishes", Int32Array>> = {
        begins: new Int32Array(),
        finishes: new Int32Array(),
      };
      return {
        name: "findSpans",
        prepare: () => (found = { begins: new Int32Array(), finishes: new Int32Array() }),
        run: () => void (found = lib.findSpans(ids, options)),
        check: () => check({ ...found }),
      };
    },
    roof: { kind: "read", bytes: ids.byteLength, run: (roof, threads) => roof.read([ids], threads) },
    ...(peers && {
      task: {
        kind: "spans",
        arrays: { tokens: ids },
        numbers: { tokens: n, start0: START[0], start1: START[1], start2: START[2], end: END[0] },
        check,
      } satisfies PeerTask,
    }),
  };
}

export function delimCases(): Case[] {
  const caseOf = (shape: (typeof TOKENS)[keyof typeof TOKENS], dtype: "int32" | "int64"): Case => {
    const [n] = shape.sizes;
    const [s, spans] = [dtype === "int32" ? 4 : 8, Math.floor(n / (2 * STRIDE))];
    return {
      kernel: "delim",
      op: "findSpans",
      dtype,
      rowKind: "a span every 350 tokens",
      shape,
      threads: 1,
      quick: shape === TOKENS.tenMillion && dtype === "int32",
      least: { bytes: s * n + 16 * spans, formula: `${s}·tokens + 16·spans` },
      prepare: () => spansSubject(n, dtype, shape !== TOKENS.hundredMillion),
    };
  };
  return (["int32", "int64"] as const).flatMap((dtype) => Object.values(TOKENS).map((shape) => caseOf(shape, dtype)));
}
