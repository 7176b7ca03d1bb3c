// Random calls of every form of loss, for the tests beside.
import type { BackendName } from "../../support/each-backend";
import { type LossArrays, type LossResult, rowLoss, tokenLoss } from "../../../lib";
import { LOSS_FORM_OPTIONS, LOSS_FORMS, ROW_FORM_OPTIONS, ROW_FORMS } from "../../../lib/backend/contract/loss";
import type { LossCase } from "../../oracle/loss";
import { drawNumbers } from "../../oracle/loss-forms";
import { type Rng, rng } from "../../support/rng";

/** Every form by a name of its own. */
export const FORMS = [
  ...LOSS_FORMS.map((form) => ({ kind: "token", form }) as const),
  ...ROW_FORMS.map((form) => ({ kind: "row", form }) as const),
].map((of) => ({ ...of, name: `${of.kind} ${of.form}` }));
export type Form = (typeof FORMS)[number];

export const MASKS = ["none", "some", "with empty rows"] as const;

/** What a test asks of a random call; the rest is drawn. */
export interface Wishes {
  readonly layout: "padded" | "packed";
  readonly mask: (typeof MASKS)[number];
  readonly kl?: boolean;
}

const every = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"] as const;

const CLAMPS = ["ratioCap", "logClamp", "maxLogRatio"] as const;

const CAPPED = ["token clip", "token weighted", "row clip", "row clipOnce", "row clipLocal"];
export const readsCap = (kind: string, form: string): boolean => CAPPED.includes(`${kind} ${form}`);
export const readsWidths = (kind: string, form: string): boolean =>
  readsCap(kind, form) || ["token bounded", "token squared", "row geometric"].includes(`${kind} ${form}`);

function parameters(r: Rng, { kind, form }: Form, n: number, B: number): Record<string, unknown> {
  const between = (low: number, high: number) => low + (high - low) * r.uniform();
  const reads = kind === "token" ? LOSS_FORM_OPTIONS[form] : ROW_FORM_OPTIONS[form];
  const numbers = {
    ...drawNumbers({ needs: ["clipLow", "clipHigh"], takes: [] }, between, () => true),
    ...drawNumbers({ needs: [], takes: CLAMPS }, between, () => r.uniform() < 0.3),
    ...drawNumbers(reads, between, () => r.uniform() < 0.5),
  };
  const bounds: Record<string, unknown> = {};
  if (r.uniform() < 0.6) {
    const whole = kind === "row" && form === "clipOnce";
    const per = whole || r.uniform() < 0.5 ? "row" : "token";
    const of = (low: number, high: number) => r.f64(per === "row" ? B : n, low, high);
    if (readsWidths(kind, form)) {
      if (r.uniform() < 0.7) bounds.clipLow = of(0.05, 0.4);
      if (r.uniform() < 0.7) bounds.clipHigh = of(0.05, 0.4);
    }
    if (readsCap(kind, form) && r.uniform() < 0.5) bounds.ratioCap = of(1, 1.5);
    if (Object.keys(bounds).length > 0) bounds.boundsPer = per;
  }
  const marks = reads.needs.includes("marks") ? { marks: r.mask(n, 0.5) } : {};
  const sums = kind === "row" && form !== "geometric" && form !== "gamma";
  const old = sums && r.uniform() < 0.3 ? { oldLogProbsPer: "row", oldLogProbs: r.f64(B, -3, 0) } : {};
  return { ...numbers, ...bounds, ...marks, ...(sums && { reduce: r.uniform() < 0.5 ? "sum" : "mean" }), ...old };
}

/** Three or four rows of up to five tokens. */
export function randomCase(seed: number, form: Form, wishes: Wishes): LossCase {
  const r = rng(seed);
  const B = 3 + Math.floor(2 * r.uniform());
  const lengths = Array.from({ length: B }, () => (wishes.layout === "padded" ? 5 : Math.floor(6 * r.uniform())));
  const offsets = Int32Array.from([0, ...lengths.map((_, b) => lengths.slice(0, b + 1).reduce((a, c) => a + c, 0))]);
  const n = offsets[B]!;
  const old = r.f64(n, -3, -0.5);
  const logProbs = old.map((value) => value + 1.2 * (r.uniform() - 0.5));
  const rowsOnly = form.kind === "row" && (form.form === "clipOnce" || form.form === "squared");
  const per = () => (rowsOnly || r.uniform() < 0.5 ? "row" : "token");
  const advantagesPer = per();
  const factorsPer = per();
  const count = (of: "row" | "token") => (of === "row" ? B : n);
  const mask = r.mask(n, 0.7);
  if (wishes.mask === "with empty rows") mask.fill(0, offsets[1], offsets[2]);
  const kinds = ["k1", "abs", "k2", "k3"] as const;
  const kind = () => kinds[Math.floor(4 * r.uniform())]!;
  const kl = {
    referenceLogProbs: r.f64(n, -3, -0.5),
    kind: kind(),
    coefficient: r.uniform(),
    timesRatio: r.uniform() < 0.5,
    ...(r.uniform() < 0.4 && { gradientKind: kind() }),
    ...(r.uniform() < 0.3 && { logClamp: 0.2 + r.uniform() }),
    ...(r.uniform() < 0.3 && { valueClamp: 0.1 + r.uniform() / 2 }),
    ...(r.uniform() < 0.3 && { rowWeights: r.f64(B) }),
  };
  const options = {
    form: form.form,
    ...(wishes.layout === "padded" ? { shape: [B, 5] as const } : { offsets }),
    logProbs,
    ...(r.uniform() < 0.85 && { oldLogProbs: old }),
    advantages: r.f64(count(advantagesPer), -2, 2).map((value) => (r.uniform() < 0.1 ? 0 : value)),
    advantagesPer,
    ...(r.uniform() < 0.5 && { factors: r.f64(count(factorsPer), 0.2, 2), factorsPer }),
    ...(r.uniform() < 0.6 && { rowWeights: r.f64(B) }),
    ...(wishes.mask !== "none" && { mask }),
    ...(!rowsOnly && r.uniform() < 0.4 && { termMask: r.mask(n, 0.6) }),
    ...((wishes.kl ?? r.uniform() < 0.5) && { kl }),
    ...parameters(r, form, n, B),
    outputs: every,
  };
  return { kind: form.kind, options } as unknown as LossCase;
}

export type FullResult = LossResult<keyof LossArrays>;

export function run(loss: LossCase, backend: BackendName, changes: object = {}): FullResult {
  return loss.kind === "token"
    ? tokenLoss({ ...loss.options, backend, ...changes })
    : rowLoss({ ...loss.options, backend, ...changes });
}
