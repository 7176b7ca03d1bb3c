// What goes over tokens and groups: advantages, spans, group normalisation, the sequence objective.
import { exact, ulps } from "../../accuracy/budgets";
import { largest } from "../../accuracy/inputs";
import type { Budget } from "../../accuracy/measure";
import { readLossParameters, LOSS_SUMS, LOSS_FORM, ROW_FORM } from "../../../lib/backend/contract/loss";
import { NO_KL } from "../../../lib/ops/loss/loss-inputs";
import { END, plantedTokens, START, widened } from "../../cases/delim";
import { itemsOf, offsetsOf } from "../../cases/group";
import { CLIP, sequenceBatch } from "../../cases/ratio";
import { rollouts } from "../../cases/scan";
import { REWARDS, ROLLOUTS, TOKENS, type Shape } from "../../shapes";
import { rng } from "../../../test/support/rng";
import { type DeviceCase, type DeviceOutput, type Outputs, twice } from "./case";
import { codeOf } from "./memory";

const F32 = codeOf({ dtype: "float32" });

/** Of an output, a share of its largest number. */
function ofLargest(share: number, name: string) {
  return (cpu: Outputs): Budget => {
    const most = largest(cpu[name] as Float32Array);
    return twice({ says: `${share.toExponential(0)} of the largest`, allowed: () => share * most });
  };
}

function gae(shape: Shape, rows: number, steps: number): DeviceCase {
  const n = rows * steps;
  return {
    kernel: "scan",
    op: "gae",
    call: "scanGae",
    dtype: "float32",
    rowKind: "γ = 1, λ = 0.95",
    shape,
    least: { bytes: 17 * n, formula: "n (s (inputs + outputs) + mask)" },
    prepare: () => {
      const { rewards, values, mask } = rollouts(rows, steps, 1, 0.95);
      const output = (name: string): DeviceOutput => ({ dtype: "float32", length: n, budget: ofLargest(1e-6, name) });
      return {
        numbers: {
          dtype: F32,
          n,
          B: rows,
          T: steps,
          gamma: 1,
          lambda: 0.95,
          lambdasPerToken: 0,
          maskMode: 0,
          transformMasked: 0,
        },
        inputs: { rewards, values, mask },
        outputs: { advantages: output("advantages"), returns: output("returns") },
      };
    },
  };
}

function spans(shape: Shape, n: number, dtype: "int32" | "int64"): DeviceCase {
  return {
    kernel: "delim",
    op: "findSpans",
    call: "delimSpans",
    dtype,
    rowKind: "a span every 350 tokens",
    shape,
    least: { bytes: (dtype === "int32" ? 4 : 8) * n, formula: "s n" },
    prepare: () => {
      const { tokens, begins } = plantedTokens(n);
      const capacity = begins.length + 64;
      const offsets = (ids: readonly number[]) => Int32Array.of(0, ids.length);
      return {
        numbers: {
          dtype: codeOf({ dtype }),
          n,
          B: 1,
          T: n,
          startCount: 1,
          endCount: 1,
          headCount: 0,
          startSize: START.length,
          endSize: END.length,
          headSize: 0,
          capacity,
          overlapping: 0,
          includeEnd: 0,
          unterminatedKeep: 0,
          startsOpen: 0,
        },
        inputs: {
          tokens: dtype === "int32" ? tokens : widened(tokens),
          startIds: Int32Array.from(START),
          startOffsets: offsets(START),
          endIds: Int32Array.from(END),
          endOffsets: offsets(END),
        },
        // Beyond the spans both leave what was there.
        outputs: {
          spans: { dtype: "int32", length: 3 * capacity, budget: () => exact },
          count: { dtype: "int64", length: 1, budget: () => exact },
        },
      };
    },
  };
}

function normalize(shape: Shape, rewards: number, size: number): DeviceCase {
  const n = itemsOf(rewards, size);
  const offsets = offsetsOf(n, size);
  const G = offsets.length - 1;
  return {
    kernel: "group",
    op: "groupNormalize",
    call: "groupNormalize",
    dtype: "float32",
    rowKind: "uniform rewards",
    shape,
    least: { bytes: 8 * n + 4 * (G + 1), formula: "s n inputs + s n outputs + 4 (G + 1)" },
    prepare: () => ({
      numbers: {
        dtype: F32,
        n,
        G,
        ddof: 1,
        epsilon: 1e-6,
        varianceFloor: 0,
        center: 1,
        scale: 1,
        singleton: 0,
        nanPolicy: 0,
        gain: 1,
      },
      inputs: { values: rng(4).f32(n), offsets },
      outputs: {
        normalized: {
          dtype: "float32",
          length: n,
          budget: () =>
            twice({ says: "2 units in the last place + 1e-9", allowed: (want) => ulps("float32", 2, want) + 1e-9 }),
        },
      },
    }),
  };
}

/** What both clipped losses read: widths for all tokens, one advantage a row, no KL. */
function clippedLoss(rows: number, steps: number, form: number) {
  const { current, old, mask, advantages } = sequenceBatch(rows, steps);
  return {
    numbers: {
      dtype: F32,
      n: rows * steps,
      B: rows,
      T: steps,
      G: 0,
      reduce: 0,
      oldLogProbsPerRow: 0,
      advantagesPerToken: 0,
      factorsPerToken: 0,
      clipLowsPerToken: 0,
      clipHighsPerToken: 0,
      ratioCapsPerToken: 0,
      form,
      figureCount: LOSS_SUMS,
      parameters: { ...readLossParameters({}, () => undefined), ...CLIP },
      kl: NO_KL.parameters,
    },
    inputs: {
      logProbs: current,
      oldLogProbs: old,
      mask,
      advantages,
      rowWeights: new Float64Array(rows).fill(1 / rows),
    },
  };
}

function objective(shape: Shape, rows: number, steps: number): DeviceCase {
  const n = rows * steps;
  return {
    kernel: "ratio",
    op: "clippedObjective, sequence, with gradient",
    call: "lossRow",
    dtype: "float32",
    rowKind: "half to all of a row kept",
    shape,
    least: { bytes: 13 * n + 16 * rows, formula: "n (2 s + mask) + s n grad + B inputs and outputs" },
    prepare: () => {
      return {
        ...clippedLoss(rows, steps, ROW_FORM.clipOnce),
        outputs: {
          ratios: {
            dtype: "float32",
            length: rows,
            budget: () => twice({ says: "1e-6·|x|", allowed: (want) => 1e-6 * Math.abs(want) }),
          },
          gradLogProbs: { dtype: "float32", length: n, budget: ofLargest(2e-6, "gradLogProbs") },
        },
      };
    },
  };
}

function tokenLoss(shape: Shape, rows: number, steps: number): DeviceCase {
  const n = rows * steps;
  return {
    kernel: "loss",
    op: "policyLoss, clipped tokens, with gradient",
    call: "lossToken",
    dtype: "float32",
    rowKind: "half to all of a row kept",
    shape,
    least: { bytes: 13 * n + 12 * rows, formula: "n (2 s + mask) + s n grad + B inputs" },
    prepare: () => {
      return {
        ...clippedLoss(rows, steps, LOSS_FORM.clip),
        outputs: { gradLogProbs: { dtype: "float32", length: n, budget: ofLargest(2e-6, "gradLogProbs") } },
      };
    },
  };
}

export function tokenCases(tiny: boolean): DeviceCase[] {
  const shape = (name: string, ...sizes: readonly number[]): Shape => ({ name, sizes });
  if (tiny)
    return [
      gae(shape("tiny", 4, 300), 4, 300),
      ...(["int32", "int64"] as const).map((dtype) => spans(shape("tiny", 20_000), 20_000, dtype)),
      normalize(shape("tiny", 4096, 8), 4096, 8),
      objective(shape("tiny", 8, 300), 8, 300),
      tokenLoss(shape("tiny", 8, 300), 8, 300),
    ];
  return [
    ...Object.values(ROLLOUTS).map((one) => gae(one, one.sizes[0], one.sizes[1])),
    ...(["int32", "int64"] as const).flatMap((dtype) =>
      Object.values(TOKENS).map((one) => spans(one, one.sizes[0], dtype)),
    ),
    ...Object.values(REWARDS).map((one) => normalize(one, one.sizes[0], one.sizes[1])),
    objective(ROLLOUTS.batch, ...ROLLOUTS.batch.sizes),
    tokenLoss(ROLLOUTS.batch, ...ROLLOUTS.batch.sizes),
  ];
}
