// A policy loss from the logits to their gradient in one call, beside the three calls that do the same.
import type { FloatArray } from "../../lib";
import { termOracle } from "../../test/oracle/ratio";
import { rng } from "../../test/support/rng";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import { OURS } from "../harness/names";
import { LOGITS } from "../shapes";
import { asNumbers, backwardBytes, type GradientCheck, gradientCheck } from "./logprob-backward";
import { forwardWanted, type LogitBatch, logitBatch, type LogitDType, type LogitMemory } from "./logit-rows";
import { poison } from "./poison";

const CLIP = 0.2;

interface PolicyInputs {
  readonly oldLogProbs: Float32Array;
  readonly advantages: Float32Array;
  readonly shape: readonly [number, number];
}

type FromLogits = (
  name: "ppo",
  logits: LogitMemory,
  targets: Int32Array,
  batch: PolicyInputs,
  options: {
    readonly clip: number;
    readonly dtype: LogitDType;
    readonly vocab: number;
    readonly out: LogitMemory;
    readonly backend: "cpu";
  },
) => unknown;

interface Training {
  readonly batch: LogitBatch;
  readonly inputs: PolicyInputs;
  readonly check: () => GradientCheck;
}

/** Rollouts of 64 tokens; some ratios are outside of the clip range. */
function trainingOf(rows: number, vocab: number, dtype: LogitDType): Training {
  const drawn = logitBatch(rows, vocab, dtype, "normal");
  const draw = rng(8);
  const { logProbs } = forwardWanted(drawn);
  const old = Float32Array.from(logProbs, (x) => x + 0.6 * (draw.uniform() - 0.5));
  const advantages = Float32Array.from(logProbs, () => 2 * draw.uniform() - 1);
  const repeated = (values: ArrayLike<number>) =>
    Float32Array.from({ length: rows }, (_, n) => values[n % drawn.period]!);
  // The loss is the mean over the tokens of what the objective gains, negated.
  const slopes = logProbs.map(
    (x, n) => -termOracle(x - old[n]!, advantages[n]!, { clipLow: CLIP, clipHigh: CLIP }).slope / rows,
  );
  const batch: LogitBatch = { ...drawn, gradLogProbs: repeated(slopes), gradEntropies: new Float32Array(rows) };
  let check: GradientCheck | undefined;
  return {
    batch,
    inputs: { oldLogProbs: repeated(old), advantages: repeated(advantages), shape: [rows / 64, 64] },
    check: () => (check ??= gradientCheck(batch)),
  };
}

function workOf({ batch, check }: Training, out: LogitMemory, run: () => void): Work {
  return {
    name: "loss from logits",
    prepare: () => poison(out),
    run,
    check: () => ({ gradient: check()(asNumbers(out, batch.dtype), true) }),
  };
}

function inOneCall(training: Training, lib: Library): Work | undefined {
  const fromLogits = (lib as Partial<Record<"policyLossFromLogits", FromLogits>>).policyLossFromLogits;
  if (!fromLogits) return undefined;
  const { batch, inputs } = training;
  const { logits, targets, vocab, dtype } = batch;
  const out = logits.slice();
  const options = { clip: CLIP, dtype, vocab, out, backend: "cpu" as const };
  return workOf(training, out, () => void fromLogits("ppo", logits, targets, inputs, options));
}

function inThreeCalls(training: Training, lib: Library): Work {
  const { batch, inputs } = training;
  const { logits, targets, rows, vocab, dtype } = batch;
  const out = logits.slice();
  const options = { shape: [rows, vocab] as const, dtype, backend: "cpu" as const };
  return workOf(training, out, () => {
    const state = lib.logprob(logits, targets, options);
    const { gradLogProbs }: { gradLogProbs: FloatArray } = lib.policyLoss(
      "ppo",
      { ...inputs, logProbs: state.logProbs },
      { clip: CLIP, backend: "cpu" },
    );
    lib.logprobBackward(logits, targets, state, { ...options, gradLogProbs, out });
  });
}

export function fusedLossSubject(rows: number, vocab: number, dtype: LogitDType): Subject {
  const training = trainingOf(rows, vocab, dtype);
  const { logits } = training.batch;
  const scratch = logits.slice();
  return {
    ours: (lib) => inOneCall(training, lib),
    beside: { [`${OURS}: forward, loss, backward`]: (lib) => inThreeCalls(training, lib) },
    roof: {
      kind: "streamed copy",
      bytes: 2 * logits.byteLength,
      run: (roof, threads) => roof.copyStreamed(scratch, logits, threads),
    },
  };
}

export function fusedLossCases(): Case[] {
  return (["float32", "bfloat16"] as const).map((dtype) => {
    const [rows, vocab] = LOGITS.qwen.sizes;
    return {
      kernel: "loss",
      op: "policyLossFromLogits",
      dtype,
      rowKind: "normal",
      shape: LOGITS.qwen,
      threads: 1,
      quick: dtype === "float32",
      least: backwardBytes(rows, vocab, dtype),
      prepare: () => fusedLossSubject(rows, vocab, dtype),
    };
  });
}
