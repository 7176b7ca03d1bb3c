// Losses of tokens from log-probs: the clipped surrogate with its figures, its gradient and a KL term, of tokens and of sequences.
// Statistics of two policies and their bounds, on the same tokens.
import { statisticOf } from "../../test/oracle/correction";
import { termOracle } from "../../test/oracle/ratio";
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import { errorOf } from "../harness/check";
import type { PeerTask } from "../peers/task";
import type { Roof } from "../roof/roof";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { CLIP as ROW_CLIP } from "./ratio";
import { TOKEN_ROWS, tokenBatch } from "./tokens";

export const CLIP = { clipLow: 0.01, clipHigh: 0.012 } as const;
const BOUNDS = { low: 0.99, high: 1.01 } as const;
const KL = 0.05;

const SUMS: Budget = { says: "1e-10·|x|", allowed: (want) => 1e-10 * Math.abs(want) };
const ONCE: Budget = { says: "1e-6·|x|", allowed: (want) => 1e-6 * Math.abs(want) };

interface Tokens {
  readonly rows: number;
  readonly steps: number;
  readonly logProbs: Float32Array;
  readonly old: Float32Array;
  readonly mask: Uint8Array;
  readonly advantages: Float32Array;
}

export function tokensOf(rows: number, steps: number): Tokens {
  const { values, others, mask } = tokenBatch(rows, steps);
  const negated = (x: Float32Array): Float32Array => x.map((value) => -value);
  return {
    rows,
    steps,
    logProbs: negated(others),
    old: negated(values),
    mask,
    advantages: Float32Array.from({ length: rows }, (_, b) => Math.sin(b + 1)),
  };
}

interface Wanted {
  readonly total: number;
  readonly gradLogProbs: Float64Array;
}

/** The reference is the old policy. Sums with a correction for what each addition lost. */
function definition({ steps, logProbs, old, mask, advantages }: Tokens, coefficient: number): Wanted {
  let [total, lost] = [0, 0];
  const gradLogProbs = Float64Array.from(logProbs, (current, i) => {
    if (mask[i] === 0) return 0;
    const x = current - old[i]!;
    const { value, slope } = termOracle(x, advantages[Math.floor(i / steps)]!, CLIP);
    const term = coefficient * statisticOf("k3", -x, 0) - value - lost;
    const next = total + term;
    lost = next - total - term;
    total = next;
    return coefficient * -Math.expm1(-x) - slope;
  });
  return { total, gradLogProbs };
}

function largestOf(values: Float64Array): number {
  return values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
}

export function gradientBudget(values: Float64Array): Budget {
  const largest = largestOf(values);
  return { says: "2e-6 of the largest", allowed: () => 2e-6 * largest };
}

function lossSubject(tokens: Tokens, withGradient: boolean, coefficient: number): Subject {
  const { rows, steps, logProbs, old, mask, advantages } = tokens;
  const scratch = new Float32Array(withGradient ? logProbs.length : 0);
  let found: Wanted | undefined;
  const wanted = (): Wanted => (found ??= definition(tokens, coefficient));
  const ours = (lib: Library): Work => {
    const gradLogProbs = new Float32Array(withGradient ? logProbs.length : 0);
    const common = {
      form: "clip",
      ...CLIP,
      logProbs,
      oldLogProbs: old,
      advantages,
      mask,
      shape: [rows, steps] as const,
      backend: "cpu",
    } as const;
    const kl = coefficient > 0 && { kl: { referenceLogProbs: old, kind: "k3", coefficient } as const };
    const options = withGradient
      ? { ...common, ...kl, outputs: ["gradLogProbs"] as const, out: { gradLogProbs } }
      : { ...common, ...kl, outputs: [] };
    let total = NaN;
    return {
      name: "tokenLoss",
      prepare: () => poison(gradLogProbs),
      run: () => void ({ total } = lib.tokenLoss(options)),
      check: (): Errors => {
        const { total: sum, gradLogProbs: values } = wanted();
        const gradient = withGradient && {
          gradLogProbs: errorOf(gradLogProbs, { values, budget: gradientBudget(values) }),
        };
        return { total: errorOf(Float64Array.of(total), { values: [sum], budget: SUMS }), ...gradient };
      },
    };
  };
  const read = coefficient > 0 ? [logProbs, old, old, mask] : [logProbs, old, mask];
  return {
    ours,
    roof: withGradient
      ? {
          kind: "read and copy",
          bytes: (coefficient > 0 ? 17 : 13) * logProbs.length,
          run: (roof: Roof, threads: number) => {
            roof.read(read.slice(1), threads);
            roof.copyStreamed(scratch, logProbs, threads);
          },
        }
      : { kind: "read", bytes: 9 * logProbs.length, run: (roof: Roof, threads: number) => roof.read(read, threads) },
    ...(coefficient === 0 && {
      task: {
        kind: withGradient ? "tokenGradient" : "tokenLoss",
        arrays: { current: logProbs, old, mask, advantages },
        numbers: { rows, steps, ...CLIP },
        check: (outputs): Errors =>
          withGradient
            ? { gradLogProbs: errorOf(outputs["gradLogProbs"]!, { values: wanted().gradLogProbs, budget: unstated }) }
            : { total: errorOf(outputs["total"]!, { values: [wanted().total], budget: unstated }) },
      } satisfies PeerTask,
    }),
  };
}

function indicesOf(mask: Uint8Array, begin: number, end: number): number[] {
  const kept: number[] = [];
  for (let i = begin; i < end; ++i) if (mask[i] !== 0) kept.push(i);
  return kept;
}

/** The ratio of a sequence, from the mean of its log ratios, for each of its tokens. */
function rowDefinition({ rows, steps, logProbs, old, mask, advantages }: Tokens): Wanted {
  let [total, lost] = [0, 0];
  const gradLogProbs = new Float64Array(rows * steps);
  for (let b = 0; b < rows; ++b) {
    const kept = indicesOf(mask, b * steps, (b + 1) * steps);
    const mean = kept.reduce((sum, i) => sum + (logProbs[i]! - old[i]!), 0) / kept.length;
    const { value, slope } = termOracle(mean, advantages[b]!, ROW_CLIP);
    const term = -kept.length * value - lost;
    const next = total + term;
    lost = next - total - term;
    total = next;
    for (const i of kept) gradLogProbs[i] = -slope;
  }
  return { total, gradLogProbs };
}

function rowLossSubject(tokens: Tokens): Subject {
  const { rows, steps, logProbs, old, mask, advantages } = tokens;
  const scratch = new Float32Array(logProbs.length);
  let found: Wanted | undefined;
  const wanted = (): Wanted => (found ??= rowDefinition(tokens));
  return {
    ours: (lib) => {
      const gradLogProbs = new Float32Array(logProbs.length);
      const options = {
        form: "clip",
        ...ROW_CLIP,
        logProbs,
        oldLogProbs: old,
        advantages,
        mask,
        shape: [rows, steps],
        out: { gradLogProbs },
        backend: "cpu",
      } as const;
      let total = NaN;
      return {
        name: "rowLoss",
        prepare: () => poison(gradLogProbs),
        run: () => void ({ total } = lib.rowLoss(options)),
        check: () => {
          const { total: sum, gradLogProbs: values } = wanted();
          return {
            total: errorOf(Float64Array.of(total), { values: [sum], budget: SUMS }),
            gradLogProbs: errorOf(gradLogProbs, { values, budget: gradientBudget(values) }),
          };
        },
      };
    },
    roof: {
      kind: "read and copy",
      bytes: 13 * logProbs.length,
      run: (roof, threads) => {
        roof.read([old, mask], threads);
        roof.copyStreamed(scratch, logProbs, threads);
      },
    },
    task: {
      kind: "rowGradient",
      arrays: { current: logProbs, old, mask, advantages },
      numbers: { rows, steps, ...ROW_CLIP },
      check: (outputs) => ({
        gradLogProbs: errorOf(outputs["gradLogProbs"]!, { values: wanted().gradLogProbs, budget: unstated }),
      }),
    },
  };
}

function boundSubject(tokens: Tokens): Subject {
  const { rows, steps, logProbs, old, mask } = tokens;
  const [scratch, flags] = [new Float32Array(logProbs.length), new Uint8Array(mask.length)];
  let found: Float64Array | undefined;
  const wanted = () =>
    (found ??= Float64Array.from(logProbs, (x, i) =>
      mask[i] === 0 ? 0 : Math.min(Math.max(Math.exp(x - old[i]!), BOUNDS.low), BOUNDS.high),
    ));
  return {
    ours: (lib) => {
      const out = { weights: new Float32Array(logProbs.length), kept: new Uint8Array(mask.length) };
      const options = {
        statistic: "ratio",
        ...BOUNDS,
        mask,
        shape: [rows, steps] as const,
        out,
        backend: "cpu",
      } as const;
      return {
        name: "boundMismatch",
        prepare: () => poison(out.weights, out.kept),
        run: () => void lib.boundMismatch(logProbs, old, options),
        check: () => ({ weights: errorOf(out.weights, { values: wanted(), budget: ONCE }) }),
      };
    },
    roof: {
      kind: "read and copy",
      bytes: 14 * logProbs.length,
      run: (roof, threads) => {
        roof.read([old], threads);
        roof.copyStreamed(scratch, logProbs, threads);
        roof.copy(flags, mask, threads);
      },
    },
  };
}

function measureSubject(tokens: Tokens): Subject {
  const { rows, steps, logProbs, old, mask } = tokens;
  let found: Float64Array | undefined;
  const wanted = () =>
    (found ??= Float64Array.from({ length: rows }, (_, b) => {
      let [sum, lost] = [0, 0];
      for (let i = b * steps; i < (b + 1) * steps; ++i) {
        if (mask[i] === 0) continue;
        const term = statisticOf("k3", logProbs[i]!, old[i]!) - lost;
        const next = sum + term;
        lost = next - sum - term;
        sum = next;
      }
      return sum;
    }));
  return {
    ours: (lib) => {
      const options = { statistic: "k3", mask, shape: [rows, steps] as const, backend: "cpu" } as const;
      let sums: Float64Array = new Float64Array(rows);
      return {
        name: "measureMismatch",
        run: () => void (sums = lib.measureMismatch(logProbs, old, options).moments.sums),
        check: () => ({ sums: errorOf(sums, { values: wanted(), budget: SUMS }) }),
      };
    },
    roof: {
      kind: "read",
      bytes: 9 * logProbs.length,
      run: (roof, threads) => roof.read([logProbs, old, mask], threads),
    },
  };
}

export function tokenLossCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const n = rows * steps;
  const loss = { kernel: "loss", ...TOKEN_ROWS, shape } as const;
  const correction = { kernel: "correction", ...TOKEN_ROWS, shape } as const;
  return [
    {
      ...loss,
      op: "tokenLoss, clip",
      least: { bytes: 9 * n, formula: "9·tokens (4 + 4 + 1 read)" },
      prepare: () => lossSubject(tokensOf(rows, steps), false, 0),
    },
    {
      ...loss,
      op: "tokenLoss, clip, with gradient",
      levels: true,
      least: { bytes: 13 * n, formula: "13·tokens (4 + 4 + 1 read, 4 written)" },
      prepare: () => lossSubject(tokensOf(rows, steps), true, 0),
    },
    {
      ...loss,
      op: "tokenLoss, clip and KL, with gradient",
      least: { bytes: 17 * n, formula: "17·tokens (4 + 4 + 4 + 1 read, 4 written)" },
      prepare: () => lossSubject(tokensOf(rows, steps), true, KL),
    },
    {
      ...loss,
      op: "rowLoss, clip, with gradient",
      least: { bytes: 13 * n, formula: "13·tokens (4 + 4 + 1 read, 4 written)" },
      prepare: () => rowLossSubject(tokensOf(rows, steps)),
    },
    {
      ...correction,
      op: "boundMismatch, ratio",
      least: { bytes: 14 * n, formula: "14·tokens (4 + 4 + 1 read, 4 + 1 written)" },
      prepare: () => boundSubject(tokensOf(rows, steps)),
    },
    {
      ...correction,
      op: "measureMismatch, k3",
      least: { bytes: 9 * n, formula: "9·tokens (4 + 4 + 1 read)" },
      prepare: () => measureSubject(tokensOf(rows, steps)),
    },
  ];
}
