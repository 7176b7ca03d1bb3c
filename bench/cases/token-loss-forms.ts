// Losses of tokens as trainers run them: the clipped surrogate with a dual clip and clamps, with weights of tokens, and the policy gradient with
// a clipped weight.
import { termOracle } from "../../test/oracle/ratio";
import type { Library } from "../harness/build";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { CLIP, gradientBudget, tokensOf } from "./token-losses";
import { TOKEN_ROWS } from "./tokens";

type Options = Partial<Parameters<Library["tokenLoss"]>[0]>;

interface Form {
  readonly op: string;
  readonly options: Options;
  /** Whether a token has a factor. */
  readonly factors?: boolean;
  /** The derivative to its log-prob, but for the factor; x: its log ratio. */
  readonly slope: (x: number, advantage: number) => number;
}

const GUARDS = { dualClip: 3, logClamp: 20 } as const;
const WEIGHT = { clipLow: 1, clipHigh: 0.012, ratioCap: 2 } as const;

const FORMS: readonly Form[] = [
  {
    op: "tokenLoss, clip with dual clip and clamps",
    options: { form: "clip", ...CLIP, ...GUARDS },
    slope: (x, advantage) => -termOracle(x, advantage, { ...CLIP, ...GUARDS }).slope,
  },
  {
    op: "tokenLoss, clip with factors",
    options: { form: "clip", ...CLIP },
    factors: true,
    slope: (x, advantage) => -termOracle(x, advantage, CLIP).slope,
  },
  {
    op: "tokenLoss, weighted",
    options: { form: "weighted", ...WEIGHT },
    slope: (x, advantage) => -advantage * Math.min(Math.exp(x), WEIGHT.ratioCap, 1 + WEIGHT.clipHigh),
  },
];

function formSubject(form: Form, rows: number, steps: number): Subject {
  const { logProbs, old, mask, advantages } = tokensOf(rows, steps);
  const factors = form.factors ? old.map((x) => 1 + 0.1 * x) : undefined;
  const [scratch, others] = [new Float32Array(logProbs.length), factors ? [old, factors, mask] : [old, mask]];
  let found: Float64Array | undefined;
  const wanted = (): Float64Array =>
    (found ??= Float64Array.from(logProbs, (current, i) => {
      if (mask[i] === 0) return 0;
      return (factors?.[i] ?? 1) * form.slope(current - old[i]!, advantages[Math.floor(i / steps)]!);
    }));
  return {
    ours: (lib) => {
      const gradLogProbs = new Float32Array(logProbs.length);
      const options = {
        ...form.options,
        logProbs,
        oldLogProbs: old,
        advantages,
        factors,
        mask,
        shape: [rows, steps],
        outputs: ["gradLogProbs"],
        out: { gradLogProbs },
        backend: "cpu",
      } as Parameters<Library["tokenLoss"]>[0];
      return {
        name: "tokenLoss",
        prepare: () => poison(gradLogProbs),
        run: () => void lib.tokenLoss(options),
        check: () => ({ gradLogProbs: errorOf(gradLogProbs, { values: wanted(), budget: gradientBudget(wanted()) }) }),
      };
    },
    roof: {
      kind: "read and copy",
      bytes: (factors ? 17 : 13) * logProbs.length,
      run: (roof, threads) => {
        roof.read(others, threads);
        roof.copyStreamed(scratch, logProbs, threads);
      },
    },
  };
}

export function tokenLossFormCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const n = rows * steps;
  return FORMS.map((form) => ({
    kernel: "loss",
    op: form.op,
    ...TOKEN_ROWS,
    shape,
    least: form.factors
      ? { bytes: 17 * n, formula: "17·tokens (4 + 4 + 4 + 1 read, 4 written)" }
      : { bytes: 13 * n, formula: "13·tokens (4 + 4 + 1 read, 4 written)" },
    prepare: () => formSubject(form, rows, steps),
  }));
}
