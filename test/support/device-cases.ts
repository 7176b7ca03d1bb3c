// One call of every op that takes DeviceArrays, or several where forms differ. `send` puts an array where the test wants it.
import * as s from "../../lib";
import type { DeviceBackendName } from "./each-device";
import { rng } from "./rng";

type Sent = Float32Array & Float64Array & Int32Array & Uint8Array & Uint16Array;
/** The array, or a DeviceArray of it under the same type: `dtype` says which half type bits are. */
export type Send = (array: Float32Array | Float64Array | Int32Array | Uint8Array | Uint16Array, dtype?: string) => Sent;

export interface DeviceCase {
  readonly op: string;
  readonly title: string;
  readonly run: (send: Send, backend: DeviceBackendName) => unknown;
}

const B = 3;
const T = 7;
const n = B * T;
const shape: [number, number] = [B, T];
const offsets = Int32Array.of(0, 7, 7, 12, 21);
const groups = [5, 9, 5];

const random = rng(20);
const floats = (length: number, low = -1, high = 1): Float32Array => random.f32(length, low, high);
const doubles = (length: number, low = -1, high = 1): Float64Array => random.f64(length, low, high);
const x = floats(n);
const y = floats(n);
const wide = doubles(n);
const rowFloats = floats(B);
const rowDoubles = doubles(B, 0.1, 1);
const logProbs = floats(n, -4, -0.1);
const oldLogProbs = floats(n, -4, -0.1);
const positive = floats(n, 0.2, 2);
const entropies = floats(n, 0, 3);
const mask = Uint8Array.from({ length: n }, (_, i) => (i % 4 === 1 ? 0 : 1));
const flags = Uint8Array.from({ length: n }, (_, i) => (i % 3 === 0 ? 1 : 0));
const rowMask = Uint8Array.of(1, 0, 1);
const tokens = Int32Array.from({ length: n }, (_, i) => [1, 8, 9, 2, 7, 1, 2][i % 7]!);
const discounts = floats(n, 0.9, 1);
const rowPositive = floats(B, 0.1, 1);
const rowCounts = floats(B, 1, 3);
const stepEntropies = doubles(5, 0, 3);
const stepScales = doubles(3, 0.5, 1.5);
const stepClarities = doubles(3, 0, 1);
const spans = Int32Array.of(0, 0, 3, 0, 3, 7, 2, 1, 5);

const V = 11;
const logits = floats(B * V, -3, 3);
const targets = Int32Array.of(4, 0, 10);
const halves = s.toHalfBits(logits, "bfloat16");
const teacher = floats(B * V, -3, 3);
const D = 4;
const hidden = floats(B * D);
const weight = floats(V * D);
const bias = floats(V);

/** The target listed, not listed, and alone. */
const kept = (send = (array: Int32Array): Int32Array => array) => ({
  ids: send(Int32Array.of(4, 10, 2, 7, 3)),
  offsets: Int32Array.of(0, 3, 5, 5),
});
const kl = (send: Send) => ({
  referenceLogProbs: send(oldLogProbs),
  kind: "k3" as const,
  coefficient: 0.1,
  rowWeights: send(rowDoubles),
});

const of = (op: string, run: DeviceCase["run"], form = ""): DeviceCase => ({
  op,
  title: form ? `${op}, ${form}` : op,
  run,
});

export const CASES: readonly DeviceCase[] = [
  of("gae", (send, backend) =>
    s.gae(send(x), send(y), {
      shape,
      gamma: send(discounts),
      lambda: 0.9,
      mask: send(mask),
      bootstrap: send(rowFloats),
      backend,
    }),
  ),
  of(
    "gae",
    (send, backend) => s.gae(send(wide), send(wide), { offsets, gamma: 0.9, lambda: 1, backend }),
    "float64, packed",
  ),
  of(
    "gae",
    (send, backend) =>
      s.gae(send(x), send(y), {
        shape,
        gamma: 0.9,
        lambda: send(discounts),
        lambdaPer: "token",
        mask: send(mask),
        backend,
      }),
    "a lambda of each token",
  ),
  of("discountedReturns", (send, backend) =>
    s.discountedReturns(send(x), { shape, gamma: 0.9, mask: send(mask), backend }),
  ),
  of("vtrace", (send, backend) =>
    s.vtrace(send(x), send(y), send(positive), { shape, gamma: 0.9, mask: send(mask), backend }),
  ),
  of(
    "vtrace",
    (send, backend) =>
      s.vtrace(send(x), send(y), send(positive), {
        shape,
        gamma: 0.9,
        lambda: send(rowPositive),
        mask: send(mask),
        backend,
      }),
    "a lambda of each row",
  ),
  of("tailSums", (send, backend) => s.tailSums(send(x), { shape, gamma: 0.9, mask: send(mask), backend })),
  of("prefixSums", (send, backend) => s.prefixSums(send(x), { offsets, mask: send(mask), backend })),
  of("scoreNorms", (send, backend) =>
    s.scoreNorms(send(logProbs), send(positive), { shape, weights: send(positive), mask: send(mask), backend }),
  ),
  of("shareWeights", (send, backend) => s.shareWeights(send(x), { shape, gain: 0.5, mask: send(mask), backend })),

  of(
    "logRatio",
    (send, backend) =>
      s.logRatio(send(logProbs), send(oldLogProbs), { shape, level: "token", mask: send(mask), backend }),
    "tokens",
  ),
  of(
    "logRatio",
    (send, backend) =>
      s.logRatio(send(logProbs), send(oldLogProbs), { shape, level: "group", groups, mask: send(mask), backend }),
    "groups",
  ),
  of(
    "clippedObjective",
    (send, backend) =>
      s.clippedObjective(send(logProbs), send(oldLogProbs), send(rowFloats), {
        shape,
        level: "token",
        clipLow: 0.2,
        clipHigh: 0.3,
        mask: send(mask),
        rowWeights: send(rowDoubles),
        backend,
      }),
    "tokens",
  ),
  of(
    "clippedObjective",
    (send, backend) =>
      s.clippedObjective(send(logProbs), send(oldLogProbs), send(rowFloats), {
        shape,
        level: "sequence",
        clipLow: 0.2,
        clipHigh: 0.3,
        mask,
        backend,
      }),
    "sequences",
  ),
  of(
    "clippedObjective",
    (send, backend) =>
      s.clippedObjective(send(logProbs), send(oldLogProbs), send(rowFloats), {
        shape,
        level: "token",
        clipLow: send(rowPositive),
        clipHigh: send(positive),
        ratioCap: send(positive),
        mask: send(mask),
        rowWeights: send(rowDoubles),
        backend,
      }),
    "bounds of rows and tokens",
  ),

  of("groupNormalize", (send, backend) =>
    s.groupNormalize(send(rowFloats), { groups, weights: send(rowPositive), backend }),
  ),
  of("groupBroadcast", (send, backend) =>
    s.groupBroadcast(send(rowFloats), { shape, mask: send(mask), rowFactors: send(rowFloats), backend }),
  ),
  of("groupPlace", (send, backend) =>
    s.groupPlace(
      { row: send(rowFloats), tokens: send(x), values: send(y) },
      { shape, scale: -0.1, mask: send(mask), backend },
    ),
  ),
  of("groupSoftmax", (send, backend) => s.groupSoftmax(send(rowFloats), { groups, temperature: 0.5, backend })),
  of("groupLogSumExp", (send, backend) => s.groupLogSumExp(send(rowFloats), { groups, backend })),
  of("groupColumns", (send, backend) =>
    s.groupColumns(send(x), send(positive), { shape, groups, mask: send(mask), backend }),
  ),
  of("groupWeigh", (send, backend) => s.groupWeigh(send(rowFloats), { form: "power", power: 2 }, { groups, backend })),
  of("groupTop2", (send, backend) => s.groupTop2(send(rowFloats), { groups, backend })),
  of("groupTilt", (send, backend) =>
    s.groupTilt(send(rowPositive), { groups, logFactors: send(rowFloats), counts: send(rowCounts), backend }),
  ),
  of("groupEntropy", (send, backend) => s.groupEntropy(send(rowPositive), { groups, normalize: true, backend })),

  of("logprob", (send, backend) =>
    s.logprob(send(logits), send(targets), { shape: [B, V], mask: send(rowMask), backend }),
  ),
  of(
    "logprob",
    (send, backend) =>
      s.logprob(send(halves, "bfloat16"), null, { shape: [B, V], dtype: "bfloat16", temperature: 0.7, backend }),
    "bfloat16",
  ),
  of("logprobBackward", (send, backend) => {
    const state = s.logprob(logits, targets, { shape: [B, V], backend });
    const there = {
      maxLogits: send(state.maxLogits),
      log1pSums: send(state.log1pSums),
      meanGaps: send(state.meanGaps),
    };
    return s.logprobBackward(send(logits), send(targets), there, {
      shape: [B, V],
      gradLogProbs: send(rowFloats),
      gradEntropies: send(rowFloats),
      mask: send(rowMask),
      backend,
    });
  }),
  of("keptLogprob", (send, backend) => {
    const { state, ...result } = s.keptLogprob(send(logits), send(targets), kept(send), {
      shape: [B, V],
      mask: send(rowMask),
      backend,
    });
    return { ...result, ...state.kept };
  }),
  of("keptLogprobBackward", (send, backend) => {
    const { kept: over, whole } = s.keptLogprob(logits, targets, kept(), { shape: [B, V], backend }).state;
    const there = {
      kept: { maxLogits: send(over.maxLogits), log1pSums: send(over.log1pSums) },
      whole: {
        ...whole!,
        maxLogits: send(whole!.maxLogits),
        log1pSums: send(whole!.log1pSums),
        meanGaps: send(whole!.meanGaps),
      },
    };
    return s.keptLogprobBackward(send(logits), send(targets), kept(send), there, {
      shape: [B, V],
      gradLogProbs: send(rowFloats),
      gradEntropies: send(rowFloats),
      mask: send(rowMask),
      backend,
    });
  }),
  of("logprobPartial", (send, backend) =>
    s.logprobPartial(send(logits), send(targets), { shape: [B, V], mask: send(rowMask), backend }),
  ),

  of("moments", (send, backend) => s.moments(send(x), { shape, groups, mask: send(mask), backend })),
  of("moments", (send, backend) => s.moments(send(wide), { backend }), "all"),
  of("mergeMoments", (send, backend) => {
    const part = s.moments(x, { shape, over: "row", backend }).partials;
    return s.mergeMoments([send(part), send(part)], { groups: [1, 1, 2, 2, 1, 2], backend });
  }),
  of("whiten", (send, backend) => s.whiten(send(x), { shape, groups, mask: send(mask), backend })),
  of(
    "whiten",
    (send, backend) =>
      s.whiten(send(x), {
        shape,
        over: "all",
        moments: { partials: send(s.moments(y, { shape, over: "all", backend }).partials) },
        backend,
      }),
    "given moments",
  ),
  of("affine", (send, backend) =>
    s.affine(send(x), {
      shape,
      center: send(rowDoubles),
      scale: send(rowDoubles),
      divisor: 3,
      mask: send(mask),
      backend,
    }),
  ),
  of("clamp", (send, backend) => s.clamp(send(x), { shape, low: -0.5, high: 0.5, mask: send(mask), backend })),
  of("gammaWeights", (send, backend) =>
    s.gammaWeights(send(x), send(rowFloats), { shape, factors: send(positive), mask: send(mask), backend }),
  ),
  of("countKept", (send, backend) => s.countKept({ shape, mask: send(mask), backend })),

  of("findSpans", (send, backend) =>
    s.findSpans(send(tokens), {
      shape,
      start: [1],
      end: [2],
      head: [9],
      lengths: send(Int32Array.of(7, 5, 7)),
      backend,
    }),
  ),
  of("spanMeans", (send, backend) => s.spanMeans(send(x), send(spans), { shape, backend })),
  of("spanMask", (send, backend) => s.spanMask(send(spans), { shape, backend })),
  of("countNgrams", (send, backend) => s.countNgrams(send(tokens), { shape, length: 2, mask: send(mask), backend })),
  of("stepWeights", (send, backend) => s.stepWeights(send(stepEntropies), { k: 1.5, backend })),
  of("modulateSpans", (send, backend) =>
    s.modulateSpans(send(x), send(spans), {
      shape,
      scales: send(stepScales),
      clarities: send(stepClarities),
      mask: send(mask),
      backend,
    }),
  ),
  of("sequenceWeights", (send, backend) =>
    s.sequenceWeights(send(entropies), {
      shape,
      groups,
      mask: send(mask),
      positive: send(rowMask),
      negativeBounds: [0.7, 1.3],
      backend,
    }),
  ),

  of("quantileMask", (send, backend) => s.quantileMask(send(x), { shape, q: 0.6, mask: send(mask), backend })),
  of("topMask", (send, backend) => s.topMask(send(x), { shape, over: "all", share: 0.3, mask: send(mask), backend })),
  of("covarianceMask", (send, backend) =>
    s.covarianceMask(send(logProbs), send(x), { shape, k: 4, mask: send(mask), excluded: send(flags), backend }),
  ),

  of("tokenLoss", (send, backend) =>
    s.tokenLoss({
      shape,
      form: "clip",
      clipLow: 0.2,
      clipHigh: 0.3,
      logProbs: send(logProbs),
      oldLogProbs: send(oldLogProbs),
      advantages: send(rowFloats),
      factors: send(positive),
      factorsPer: "token",
      rowWeights: send(rowDoubles),
      mask: send(mask),
      termMask: send(flags),
      kl: kl(send),
      outputs: ["losses", "ratios", "klValues", "clipped", "gradLogProbs"],
      backend,
    }),
  ),
  of(
    "tokenLoss",
    (send, backend) =>
      s.tokenLoss({
        shape,
        form: "marked",
        coefficient: 0.5,
        marks: send(flags),
        logProbs: send(logProbs),
        advantages: send(x),
        backend,
      }),
    "marked",
  ),
  of("rowLoss", (send, backend) =>
    s.rowLoss({
      shape,
      form: "clip",
      clipLow: 0.2,
      clipHigh: 0.3,
      logProbs: send(logProbs),
      oldLogProbs: send(oldLogProbs),
      advantages: send(rowFloats),
      rowWeights: send(rowDoubles),
      mask: send(mask),
      kl: kl(send),
      backend,
    }),
  ),
  of("klEstimates", (send, backend) =>
    s.klEstimates(send(logProbs), send(oldLogProbs), { shape, kind: "k3", mask: send(mask), backend }),
  ),

  of("measureMismatch", (send, backend) =>
    s.measureMismatch(send(logProbs), send(oldLogProbs), {
      shape,
      statistic: "ratio",
      low: 0.5,
      high: 2,
      mask: send(mask),
      backend,
    }),
  ),
  of("boundMismatch", (send, backend) =>
    s.boundMismatch(send(logProbs), send(oldLogProbs), {
      shape,
      statistic: "ratio",
      high: 2,
      rowFactors: send(rowDoubles),
      mask: send(mask),
      backend,
    }),
  ),

  of("linearLogprob", (send, backend) =>
    s.linearLogprob(send(hidden), send(weight), send(targets), {
      shape: [B, D],
      bias: send(bias),
      mask: send(rowMask),
      backend,
    }),
  ),
  of("linearLogprobBackward", (send, backend) => {
    const state = s.linearLogprob(hidden, weight, targets, { shape: [B, D], backend });
    const there = {
      maxLogits: send(state.maxLogits),
      log1pSums: send(state.log1pSums),
      meanGaps: send(state.meanGaps),
    };
    return s.linearLogprobBackward(send(hidden), send(weight), send(targets), there, {
      shape: [B, D],
      gradLogProbs: send(rowFloats),
      gradEntropies: send(rowFloats),
      mask: send(rowMask),
      backend,
    });
  }),
  of("divergence", (send, backend) =>
    s.divergence(send(logits), send(teacher), { shape: [B, V], beta: 0.5, mask: send(rowMask), backend }),
  ),
  of(
    "divergence",
    (send, backend) =>
      s.divergence(send(logits), send(teacher), {
        shape: [B, V],
        beta: 0,
        support: send(Int32Array.of(0, 3, 1, 5, 2, 9)),
        outside: "pooled",
        backend,
      }),
    "support",
  ),
  of("divergenceBackward", (send, backend) =>
    s.divergenceBackward(send(logits), send(teacher), send(rowDoubles), {
      shape: [B, V],
      beta: 1,
      mask: send(rowMask),
      backend,
    }),
  ),
  of("topLogits", (send, backend) => s.topLogits(send(logits), 3, { shape: [B, V], mask: send(rowMask), backend })),
];
