// What a call costs on 64 tokens or fewer, with memory given where the function takes it.
import { groupNormalizeOracle } from "../../test/oracle/group";
import { rng } from "../../test/support/rng";
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Work } from "../harness/case";
import { errorOf } from "../harness/check";
import { SMALL } from "../shapes";
import { CONVENTIONS } from "./group";
import { advantagesOf } from "./linear-time";
import { poison } from "./poison";

const CLOSE: Budget = { says: "2e-6·|x| + 2e-6", allowed: (want) => 2e-6 * Math.abs(want) + 2e-6 };
const n: number = SMALL.tokens.sizes[1];
const shape = [1, n] as const;
const draw = rng(14);
const [x, y] = [draw.f32(n), draw.f32(n)];
const gap = (i: number): number => x[i]! - y[i]!;
const every = (of: (i: number) => number): number[] => Array.from(x, (_, i) => of(i));

type Outputs = Readonly<Record<string, Float32Array | Int32Array>>;

/** A call that fills these outputs, and what has to be in one of them. */
interface SmallCall {
  readonly kernel: string;
  readonly out: Outputs;
  readonly run: (lib: Library, out: Outputs) => unknown;
  /** The output that is checked: of `out`, or of what the call returned. */
  readonly checked: string;
  readonly wanted: () => ArrayLike<number>;
}

const floats = (length = n): Float32Array => new Float32Array(length);
const ones = { logProbs: floats(1), entropies: floats(1), logSumExps: floats(1), maxLogits: floats(1) };
const rows = { ...ones, log1pSums: floats(1), meanGaps: floats(1), sumSquares: floats(1) };
const eights = Int32Array.from({ length: n / 8 + 1 }, (_, g) => 8 * g);
const target = Int32Array.of(3);
const one = Float32Array.of(1);

const CALLS: Readonly<Record<string, SmallCall>> = {
  gae: {
    kernel: "scan",
    out: { advantages: floats(), returns: floats() },
    run: (lib, out) => lib.gae(x, y, { shape, gamma: 0.99, lambda: 0.95, out }),
    checked: "advantages",
    wanted: () =>
      advantagesOf({
        rewards: x,
        values: y,
        mask: new Uint8Array(n).fill(1),
        rows: 1,
        steps: n,
        gamma: 0.99,
        lambda: 0.95,
      }),
  },
  logRatio: {
    kernel: "ratio",
    out: { logRatios: floats(), ratios: floats() },
    run: (lib, out) => lib.logRatio(x, y, { shape, level: "token", out }),
    checked: "ratios",
    wanted: () => every((i) => Math.exp(gap(i))),
  },
  clippedObjective: {
    kernel: "ratio",
    out: { gradLogProbs: floats() },
    run: (lib, out) =>
      lib.clippedObjective(x, y, one, { shape, level: "token", clipLow: Infinity, clipHigh: Infinity, out }),
    checked: "gradLogProbs",
    wanted: () => every((i) => Math.exp(gap(i)) / n),
  },
  klPenalty: {
    kernel: "loss",
    out: { values: floats(), gradLogProbs: floats() },
    run: (lib, out) => lib.klPenalty(x, y, { shape, estimator: "k3", out }),
    checked: "values",
    wanted: () => every((i) => Math.expm1(-gap(i)) + gap(i)),
  },
  groupNormalize: {
    kernel: "group",
    out: { normalized: floats(), means: floats(n / 8), stds: floats(n / 8), counts: new Int32Array(n / 8) },
    run: (lib, out) => lib.groupNormalize(x, { groupOffsets: eights, epsilon: 1e-6, out }),
    checked: "normalized",
    wanted: () =>
      groupNormalizeOracle(
        x,
        Array.from({ length: n / 8 }, (_, g) => Array.from({ length: 8 }, (__, k) => 8 * g + k)),
        CONVENTIONS,
      ).normalized,
  },
  logprob: {
    kernel: "logprob",
    out: rows,
    run: (lib, out) => lib.logprob(x, target, { shape, out }),
    checked: "logProbs",
    wanted: () => [x[3]! - Math.log(every((i) => Math.exp(x[i]!)).reduce((sum, e) => sum + e))],
  },
};
function workOf(name: string, { out, run, checked, wanted }: SmallCall, lib: Library): Work {
  let returned: unknown;
  return {
    name,
    prepare: () => {
      poison(...Object.values(out));
      returned = undefined;
    },
    run: () => void (returned = run(lib, out)),
    check: () => {
      const got = out[checked] ?? (returned as Outputs | undefined)?.[checked] ?? floats(wanted().length).fill(NaN);
      return { [checked]: errorOf(got, { values: Float64Array.from(wanted()), budget: CLOSE }) };
    },
  };
}

export const SMALL_CALL_NAMES = Object.keys(CALLS);

export function smallCallSubject(name: string) {
  return { ours: (lib: Library) => workOf(name, CALLS[name]!, lib) };
}

export function smallCallCases(): Case[] {
  return SMALL_CALL_NAMES.map((name) => ({
    kernel: CALLS[name]!.kernel,
    op: `${name}, small call`,
    dtype: "float32",
    rowKind: "all kept",
    shape: SMALL.tokens,
    threads: 1,
    quick: true,
    prepare: () => smallCallSubject(name),
  }));
}
