// Losses of tokens, and of rows one form of each way through a row.
import { rowLoss, type RowLossOptions, tokenLoss, type TokenLossOptions } from "../../../lib";
import { LOSS_FORM_OPTIONS, LOSS_FORMS } from "../../../lib/backend/contract/loss";
import { lossOracle } from "../../../test/oracle/loss";
import { drawNumbers } from "../../../test/oracle/loss-forms";
import { rng } from "../../../test/support/rng";
import { float64Sum } from "../budgets";
import { floats, largest, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case } from "../measure";

const SHAPE = [6, 37] as const;

const KINDS: Readonly<Record<string, (r: ReturnType<typeof rng>, n: number) => ArrayLike<number>>> = {
  random: (r, n) => r.normal(n, 0, 0.25),
  "flat: the same policy": (_, n) => new Float64Array(n),
};

/** Every form of tokens, its numbers in the middle of what the tests draw. */
const TOKEN_FORMS = LOSS_FORMS.map((form) => {
  const reads = LOSS_FORM_OPTIONS[form];
  const numbers = drawNumbers(
    reads,
    (low, high) => (low + high) / 2,
    () => true,
  );
  return { form, ...numbers, marked: reads.needs.includes("marks") };
});
const ROW_FORMS = [
  { form: "clip", clipLow: 0.2, clipHigh: 0.28 },
  { form: "geometric", clipLow: 0.4, clipHigh: 0.4 },
  { form: "gamma", shapePositive: 2, ratePositive: 3, shapeNegative: 3, rateNegative: 2 },
] as const;

function caseOf(
  dtype: WideFloat,
  input: string,
  kind: "token" | "row",
  { marked = false, ...form }: { readonly form: string; readonly marked?: boolean },
): Case {
  const [B, T] = SHAPE;
  const n = B * T;
  const r = rng(83);
  const old = floats(dtype, r.f64(n, -3, 0));
  const moved = KINDS[input]!(r, n);
  const logProbs = floats(
    dtype,
    Array.from(old, (x, i) => x + moved[i]!),
  );
  const options = {
    ...form,
    shape: SHAPE,
    logProbs,
    oldLogProbs: old,
    advantages: floats(dtype, r.f64(B, -2, 2)),
    advantagesPer: "row",
    mask: r.mask(n, 0.7),
    ...(marked && { marks: r.mask(n, 0.5) }),
    kl: { referenceLogProbs: floats(dtype, r.f64(n, -3, 0)), kind: "k3" },
    outputs: ["losses", "klValues"],
  } as unknown as TokenLossOptions & RowLossOptions;
  const want = lossOracle({ kind, options }, logProbs, logProbs);
  const losses = form.form === "geometric" ? want.rowLosses : want.losses;
  // A loss is a sum of log ratios, at most as large as `size`, raised to a power of e and multiplied by an advantage.
  const size = (1 + largest(moved)) * T;
  const budget = float64Sum(dtype, T, (x) => size * (1 + Math.abs(x)));
  return {
    op: `${kind}Loss (${form.form})`,
    dtype,
    input,
    want: {
      losses: { values: losses, budget },
      klValues: { values: want.kls, budget: float64Sum(dtype, 1, (x) => 4 * (1 + Math.abs(x))) },
    },
    run: (backend) => {
      const { losses: got, klValues } =
        kind === "token" ? tokenLoss({ ...options, backend }) : rowLoss({ ...options, backend });
      return { losses: got, klValues };
    },
  };
}

export default function lossCases(): Case[] {
  return WIDE_FLOATS.flatMap((dtype) =>
    Object.keys(KINDS).flatMap((input) => [
      ...TOKEN_FORMS.map((form) => caseOf(dtype, input, "token", form)),
      ...ROW_FORMS.map((form) => caseOf(dtype, input, "row", form)),
    ]),
  );
}
