// A random call of each public op: what goes into it, and how it is made on a backend.
import * as s from "../../lib";
import { calling, type Drawn, type Options } from "./calling";
import type { Draw } from "./draw";
import { drawGroups, drawRows, floatMaker } from "./inputs";
import { LOGIT_CALLS } from "./logit-calls";
import { lossOptions, tokenForm } from "./loss-options";

function scanOptions(d: Draw): { floats: ReturnType<typeof floatMaker>; B: number; n: number; options: Options } {
  const { layout, B, n, mask } = drawRows(d);
  const floats = floatMaker(d);
  const options = {
    ...layout,
    mask,
    gamma: d.pick([1, 0.9, 0, "array"]),
    maskMode: d.maybe(() => d.pick(["skip", "steps", "cut"])),
    transformMasked: d.maybe(() => true),
    bootstrap: d.maybe(() => floats(B)),
  };
  return { floats, B, n, options: options.gamma === "array" ? { ...options, gamma: floats(n, "positive") } : options };
}

function reduceOptions(d: Draw): { floats: ReturnType<typeof floatMaker>; n: number; options: Options } {
  const { layout, B, n, mask } = drawRows(d);
  const floats = floatMaker(d);
  const over = d.pick([{ over: "all" }, { over: "row" }, "groups"] as const);
  const nan = d.maybe(() => "abstain");
  return { floats, n, options: { ...layout, mask, nan, ...(over === "groups" ? drawGroups(d, B) : over) } };
}

function ratioOptions(d: Draw): { floats: ReturnType<typeof floatMaker>; B: number; n: number; options: Options } {
  const { layout, B, n, mask } = drawRows(d);
  const level = d.pick(["token", "sequence", "group"]);
  const options = { ...layout, mask, level, reduce: d.maybe(() => d.pick(["mean", "sum"])) };
  return { floats: floatMaker(d), B, n, options: level === "group" ? { ...options, ...drawGroups(d, B) } : options };
}

function pair(d: Draw): { rows: ReturnType<typeof drawRows>; current: unknown; old: unknown } {
  const rows = drawRows(d);
  const floats = floatMaker(d);
  return { rows, current: floats(rows.n, "logProbs"), old: floats(rows.n, "logProbs") };
}

const CONVENTIONS = (d: Draw): Options => ({
  center: d.maybe(() => d.pick(["none", "leaveOneOut", "runnerUp", "mean"])),
  scale: d.maybe(() => d.pick(["none", "std"])),
  ddof: d.maybe(() => d.pick([0, 1, 2])),
  epsilon: d.maybe(() => d.pick([0, 1e-4])),
  varianceFloor: d.maybe(() => d.pick([1e-8, 0.5])),
  singleton: d.maybe(() => d.pick(["raw", "standard", "zero"])),
  nan: d.maybe(() => "abstain"),
  gain: d.maybe(() => 2),
});

function items(d: Draw): { floats: ReturnType<typeof floatMaker>; n: number; groups: Options } {
  const n = d.int(1, d.pick([4, 12, 60]));
  return { floats: floatMaker(d), n, groups: drawGroups(d, n) };
}

export const CALLS: Readonly<Record<string, (d: Draw) => Drawn>> = {
  groupNormalize(d) {
    const { floats, n, groups } = items(d);
    const weights = d.maybe(() => floats(n, "positive"));
    return calling(s.groupNormalize, [floats(n)], { ...groups, ...CONVENTIONS(d), weights });
  },
  groupSoftmax(d) {
    const { floats, n, groups } = items(d);
    const options = { temperature: d.maybe(() => d.pick([0, 0.5, 2])), floor: d.maybe(() => 0.1) };
    return calling(s.groupSoftmax, [floats(n)], { ...groups, ...options });
  },
  groupLogSumExp(d) {
    const { floats, n, groups } = items(d);
    return calling(s.groupLogSumExp, [floats(n)], { ...groups, temperature: d.maybe(() => 0.5) });
  },
  groupTop2(d) {
    const { floats, n, groups } = items(d);
    return calling(s.groupTop2, [floats(n)], groups);
  },
  groupEntropy(d) {
    const { floats, n, groups } = items(d);
    const options = { normalize: d.maybe(() => d.pick([true, false])), least: d.maybe(() => 1e-3) };
    return calling(s.groupEntropy, [floats(n, "positive")], { ...groups, ...options });
  },
  groupTilt(d) {
    const { floats, n, groups } = items(d);
    const options = {
      temperature: d.maybe(() => d.pick([0, 0.5])),
      coefficient: d.maybe(() => d.pick([0.5, 0])),
      logFactors: d.maybe(() => floats(n)),
      counts: d.maybe(() => floats(n, "positive")),
      least: d.maybe(() => 1e-3),
    };
    return calling(s.groupTilt, [floats(n, "positive")], { ...groups, ...options });
  },
  groupWeigh(d) {
    const { floats, n, groups } = items(d);
    const form = d.pick([
      { form: "extremes", atMax: 2, atMin: 1, between: 0.5 },
      { form: "power", power: 2 },
      { form: "power", power: 0.5 },
      { form: "power", power: 0 },
    ]);
    return calling(s.groupWeigh, [floats(n), form], { ...groups, floor: d.maybe(() => 0.1) });
  },
  groupColumns(d) {
    const { layout, B, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const options = { epsilon: d.maybe(() => d.pick([0, 0.1])), zeroTail: d.maybe(() => true) };
    const args = [floats(n), floats(n, "positive")];
    return calling(s.groupColumns, args, { ...layout, mask, ...drawGroups(d, B), ...options });
  },
  groupBroadcast(d) {
    const { layout, B, mask } = drawRows(d);
    return calling(s.groupBroadcast, [floatMaker(d)(B)], { ...layout, mask });
  },
  groupPlace(d) {
    const { layout, B, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const terms = { row: floats(B), tokens: floats(n), values: floats(n) };
    const options = { scale: d.maybe(() => d.pick([-0.5, 0])), clip: d.maybe(() => [-1, 1]) };
    return calling(s.groupPlace, [terms], { ...layout, mask, ...options, over: d.maybe(() => "all") });
  },
  gae(d) {
    const { floats, n, options } = scanOptions(d);
    return calling(s.gae, [floats(n), floats(n)], { ...options, lambda: d.pick([1, 0.5, 0]) });
  },
  discountedReturns(d) {
    const { floats, n, options } = scanOptions(d);
    return calling(s.discountedReturns, [floats(n)], options);
  },
  vtrace(d) {
    const { floats, n, options } = scanOptions(d);
    const bars = { rhoBar: d.maybe(() => 1), cBar: d.maybe(() => 0.5), pgRhoBar: d.maybe(() => 2) };
    const args = [floats(n), floats(n), floats(n, "positive")];
    return calling(s.vtrace, args, { ...options, ...bars, lambda: d.maybe(() => 0.5) });
  },
  tailSums(d) {
    const { layout, n, mask } = drawRows(d);
    const options = {
      gamma: d.pick([1, 0.9, 0]),
      maskMode: d.maybe(() => d.pick(["skip", "steps"])),
      normalize: d.maybe(() => true),
      maskedWeight: d.maybe(() => 0.5),
    };
    return calling(s.tailSums, [floatMaker(d)(n)], { ...layout, mask, ...options });
  },
  prefixSums(d) {
    const { layout, n, mask } = drawRows(d);
    return calling(s.prefixSums, [floatMaker(d)(n)], { ...layout, mask, exclusive: d.maybe(() => true) });
  },
  scoreNorms(d) {
    const { layout, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const weights = d.maybe(() => floats(n, "positive"));
    return calling(s.scoreNorms, [floats(n, "logProbs"), floats(n, "positive")], { ...layout, mask, weights });
  },
  shareWeights(d) {
    const { layout, n, mask } = drawRows(d);
    const options = { gain: d.pick([1, 2]), epsilon: d.maybe(() => 0.1) };
    return calling(s.shareWeights, [floatMaker(d)(n)], { ...layout, mask, ...options });
  },
  moments(d) {
    const { floats, n, options } = reduceOptions(d);
    return calling(s.moments, [floats(n)], options);
  },
  mergeMoments(d) {
    const parts = Array.from({ length: d.int(1, 3) }, () => {
      const { floats, n, options } = reduceOptions(d);
      return s.moments(floats(n), { ...options, backend: "js" });
    });
    const units = parts.reduce((sum, part) => sum + part.units, 0);
    return calling(s.mergeMoments, [parts], d.maybe(() => drawGroups(d, units)) ?? {});
  },
  whiten(d) {
    const { floats, n, options } = reduceOptions(d);
    const conventions = {
      center: d.maybe(() => d.pick(["none", "mean"])),
      scale: d.maybe(() => "none"),
      ddof: d.maybe(() => d.pick([0, 2])),
      varianceEpsilon: d.maybe(() => 1e-8),
      varianceFloor: d.maybe(() => 0.5),
      epsilon: d.maybe(() => 1e-4),
      keepMean: d.maybe(() => true),
      transformMasked: d.maybe(() => true),
    };
    return calling(s.whiten, [floats(n)], { ...options, ...conventions });
  },
  affine(d) {
    const { layout, B, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const options = {
      center: d.maybe(() => d.pick([() => 0.5, () => floats(B)])()),
      scale: d.maybe(() => d.pick([() => 2, () => floats(B)])()),
      divisor: d.maybe(() => 3),
      transformMasked: d.maybe(() => true),
    };
    return calling(s.affine, [floats(n)], { ...layout, mask, ...options });
  },
  clamp(d) {
    const { layout, n, mask } = drawRows(d);
    const options = { low: d.maybe(() => -0.5), high: d.maybe(() => 1), transformMasked: d.maybe(() => true) };
    return calling(s.clamp, [floatMaker(d)(n)], { ...layout, mask, ...options });
  },
  countKept(d) {
    const { layout, mask } = drawRows(d);
    return calling(s.countKept, [], { ...layout, mask });
  },
  gammaWeights(d) {
    const { layout, B, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const options = {
      factors: d.maybe(() => floats(n, "positive")),
      factorsOver: d.maybe(() => "all"),
      positive: d.maybe(() => ({ shape: 2, rate: 3 })),
      negative: d.maybe(() => ({ shape: 1.5, rate: 2 })),
      bound: d.maybe(() => 5),
    };
    return calling(s.gammaWeights, [floats(n), floats(B)], { ...layout, mask, ...options });
  },
  quantileMask(d) {
    const { layout, n, mask } = drawRows(d);
    const options = { q: d.pick([0.5, 0, 1, 0.8]), over: d.maybe(() => "row") };
    return calling(s.quantileMask, [floatMaker(d)(n)], { ...layout, mask, ...options });
  },
  topMask(d) {
    const { layout, n, mask } = drawRows(d);
    const amount = d.pick([{ k: 1 }, { k: 3 }, { share: 0.4 }, { share: 0.2, least: 1 }, { k: 0 }]);
    return calling(s.topMask, [floatMaker(d)(n)], { ...layout, mask, ...amount, over: d.maybe(() => "row") });
  },
  covarianceMask(d) {
    const { layout, B, n, mask } = drawRows(d);
    const floats = floatMaker(d);
    const amount = d.pick([{ k: 2 }, { share: 0.4 }, { between: [0.1, 1] }]);
    const advantagesPer = d.maybe(() => "row");
    const args = [floats(n, "logProbs"), floats(advantagesPer ? B : n)];
    return calling(s.covarianceMask, args, { ...layout, mask, ...amount, advantagesPer });
  },
  logRatio(d) {
    const { floats, n, options } = ratioOptions(d);
    return calling(s.logRatio, [floats(n, "logProbs"), floats(n, "logProbs")], options);
  },
  clippedObjective(d) {
    const { floats, B, n, options } = ratioOptions(d);
    const advantagesPer = d.maybe(() => (options.level === "token" ? "token" : undefined));
    const clip = {
      clipLow: d.pick([0.2, 0]),
      clipHigh: d.pick([0.3, 0]),
      dualClip: d.maybe(() => 3),
      ratioCap: d.maybe(() => 2),
      logClamp: d.maybe(() => 1),
      maxLogRatio: d.maybe(() => 1),
      rowWeights: d.maybe(() => floats(B, "positive")),
      outputs: d.maybe(() => ["losses", "ratios", "clipped", "gradLogProbs"]),
    };
    const args = [floats(n, "logProbs"), floats(n, "logProbs"), floats(advantagesPer ? n : B)];
    return calling(s.clippedObjective, args, { ...options, ...clip, advantagesPer });
  },
  measureMismatch(d) {
    const { rows, current, old } = pair(d);
    const options = {
      statistic: d.pick(["ratio", "k1", "k2", "k3", "distance", "current", "old", "total"]),
      low: d.maybe(() => 0.5),
      high: d.maybe(() => 2),
    };
    return calling(s.measureMismatch, [current, old], { ...rows.layout, mask: rows.mask, ...options });
  },
  boundMismatch(d) {
    const { rows, current, old } = pair(d);
    const options = {
      statistic: d.pick(["ratio", "k1", "k2", "k3", "distance", "current", "old", "total"]),
      low: d.maybe(() => 0.5),
      high: d.maybe(() => 2),
      logClamp: d.maybe(() => 1),
      outside: d.maybe(() => d.pick(["clamp", "zero"])),
      maskedWeight: d.maybe(() => 1),
    };
    return calling(s.boundMismatch, [current, old], { ...rows.layout, mask: rows.mask, ...options });
  },
  tokenLoss(d) {
    const rows = drawRows(d);
    return calling(s.tokenLoss, [], { ...lossOptions(d, rows), ...tokenForm(d, rows.n) });
  },
  rowLoss(d) {
    const form = d.pick([
      { form: "clip", clipLow: 0.2, clipHigh: 0.3 },
      { form: "clipOnce", clipLow: 0.2, clipHigh: 0.3 },
      { form: "clipLocal", clipLow: 0.2, clipHigh: 0.3 },
      { form: "geometric", clipLow: 0.2, clipHigh: 0.3 },
      { form: "gamma", shapePositive: 2, ratePositive: 3, shapeNegative: 1.5, rateNegative: 2 },
      { form: "squared", coefficient: 0.5 },
    ]);
    return calling(s.rowLoss, [], { ...lossOptions(d, drawRows(d), "row"), ...form });
  },
  klEstimates(d) {
    const { rows, current, old } = pair(d);
    const kind = d.pick(["k1", "k2", "k3", "abs"]);
    return calling(s.klEstimates, [current, old], { ...rows.layout, mask: rows.mask, kind });
  },
  findSpans(d) {
    const { layout, n } = drawRows(d);
    const tokens = d.array(new Int32Array(n), () => d.int(0, 3));
    const options = {
      start: d.pick([[[1]], [[1], [2, 3]], [[1, 1]]]),
      end: d.pick([[[2]], [[2, 2], [3]]]),
      overlapping: d.maybe(() => true),
      unterminated: d.maybe(() => "keep"),
      startsOpen: d.maybe(() => true),
      capacity: d.maybe(() => 1),
    };
    return calling(s.findSpans, [tokens], { ...layout, ...options });
  },
  countNgrams(d) {
    const { layout, n, mask } = drawRows(d);
    const tokens = d.array(new Int32Array(n), () => d.int(0, 3));
    return calling(s.countNgrams, [tokens], { ...layout, mask, length: d.int(1, 3) });
  },
  spanMeans(d) {
    const { layout, B, n } = drawRows(d);
    const spans = drawSpans(d, layout, B);
    return calling(s.spanMeans, [floatMaker(d)(n), spans], layout);
  },
  spanMask(d) {
    const { layout, B } = drawRows(d);
    return calling(s.spanMask, [drawSpans(d, layout, B)], layout);
  },
  stepWeights(d) {
    const entropies = floatMaker(d)(d.int(1, 30), "positive");
    const options = { k: d.maybe(() => 2), kFuture: d.maybe(() => 0.5), epsilon: d.maybe(() => 0.1) };
    return calling(s.stepWeights, [entropies], { ...options, nonFinite: d.maybe(() => "propagate") });
  },
  modulateSpans(d) {
    const { layout, B, n, mask } = drawRows(d);
    const spans = drawSpans(d, layout, B);
    const doubles = (): Float64Array => d.array(new Float64Array(spans.length / 3), () => d.int(0, 8) / 4);
    const options = {
      scales: doubles(),
      clarities: doubles(),
      zeta: d.maybe(() => 0.1),
      scope: mask ? d.maybe(() => "segments") : "all",
    };
    return calling(s.modulateSpans, [floatMaker(d)(n), spans], { ...layout, mask, ...options });
  },
  sequenceWeights(d) {
    const { layout, B, n, mask } = drawRows(d);
    const options = {
      form: d.maybe(() => d.pick(["ratio", "zscore"])),
      epsilon: d.maybe(() => 0.1),
      beta: d.maybe(() => 0.5),
      zClip: d.maybe(() => 1),
      bounds: d.maybe(() => [0.5, 2]),
      emptyRows: d.maybe(() => "zero"),
      singleton: d.maybe(() => d.pick(["one", "own", "standard"])),
      zeroMean: d.maybe(() => "formula"),
    };
    return calling(s.sequenceWeights, [floatMaker(d)(n, "positive")], {
      ...layout,
      mask,
      ...drawGroups(d, B),
      ...options,
    });
  },
  ...LOGIT_CALLS,
};

/** Spans in order, none across rows, as findSpans would list them: row, begin, end. */
function drawSpans(d: Draw, layout: ReturnType<typeof drawRows>["layout"], B: number): Int32Array {
  const spans: number[] = [];
  for (let b = 0; b < B; ++b) {
    const length = "offsets" in layout ? layout.offsets[b + 1]! - layout.offsets[b]! : layout.shape[1];
    for (let begin = 0; begin < length && d.unit() >= 0.3;) {
      const end = d.int(begin + 1, length);
      spans.push(b, begin, end);
      begin = end;
    }
  }
  return Int32Array.from(spans);
}
