// Cases of the ops on tokens in rows.
import * as s from "../../../lib";
import {
  type Case,
  caseOf,
  type Input,
  logProbs,
  mask,
  rowGroups,
  rowMask,
  rows,
  shape,
  spans,
  tokens,
  wide,
  wideRows,
} from "./cases";

const layout = { shape, mask };
/** Where there is no mask, or what it leaves is copied. */
const unmasked = (): Input => ({ values: tokens().values, kept: 1 });

export const TOKEN_CASES: readonly Case[] = [
  caseOf(
    "gae",
    { rewards: tokens(), values: tokens(), gamma: tokens(0.8, 1), bootstrap: rows() },
    ({ rewards, values, gamma, bootstrap }, backend) =>
      s.gae(rewards, values, { ...layout, gamma, bootstrap, lambda: 0.9, backend }),
  ),
  caseOf(
    "discountedReturns",
    { rewards: tokens(), gamma: tokens(0.8, 1), bootstrap: rows() },
    ({ rewards, gamma, bootstrap }, backend) => s.discountedReturns(rewards, { ...layout, gamma, bootstrap, backend }),
  ),
  caseOf(
    "vtrace",
    { rewards: tokens(), values: tokens(), weights: tokens(0.5, 1.5), gamma: tokens(0.8, 1), bootstrap: rows() },
    ({ rewards, values, weights, gamma, bootstrap }, backend) =>
      s.vtrace(rewards, values, weights, { ...layout, gamma, bootstrap, backend }),
  ),
  caseOf("tailSums", { values: tokens() }, ({ values }, backend) =>
    s.tailSums(values, { ...layout, gamma: 0.9, normalize: true, backend }),
  ),
  caseOf("prefixSums", { values: tokens() }, ({ values }, backend) => s.prefixSums(values, { ...layout, backend })),
  caseOf(
    "scoreNorms",
    { logProbs: logProbs(), sumSquares: tokens(0.1, 0.9), weights: tokens(0.5, 1.5) },
    (given, backend) => s.scoreNorms(given.logProbs, given.sumSquares, { ...layout, weights: given.weights, backend }),
  ),
  caseOf("shareWeights", { values: tokens() }, ({ values }, backend) =>
    s.shareWeights(values, { ...layout, gain: 0.5, backend }),
  ),

  ...(["token", "sequence", "group"] as const).map((level) =>
    caseOf(`logRatio, ${level}`, { logProbs: logProbs(), oldLogProbs: logProbs() }, (given, backend) =>
      s.logRatio(given.logProbs, given.oldLogProbs, {
        ...layout,
        level,
        ...(level === "group" ? { groups: rowGroups } : {}),
        backend,
      }),
    ),
  ),
  ...(["token", "sequence"] as const).map((level) =>
    caseOf(
      `clippedObjective, ${level}`,
      { logProbs: logProbs(), oldLogProbs: logProbs(), advantages: rows(), rowWeights: wideRows() },
      (given, backend) =>
        s.clippedObjective(given.logProbs, given.oldLogProbs, given.advantages, {
          ...layout,
          level,
          clipLow: 0.2,
          clipHigh: 0.3,
          rowWeights: given.rowWeights,
          outputs: ["losses", "ratios", "clipped", "gradLogProbs"],
          backend,
        }),
    ),
  ),

  ...([{ over: "row" }, { over: "all" }, { groups: rowGroups }] as const).map((over) =>
    caseOf(`moments, ${"over" in over ? over.over : "groups"}`, { values: tokens() }, ({ values }, backend) => ({
      partials: s.moments(values, { ...layout, ...over, backend }).partials,
    })),
  ),
  caseOf('moments, nan "abstain"', { values: tokens() }, ({ values }, backend) => ({
    partials: s.moments(values, { ...layout, over: "row", nan: "abstain", backend }).partials,
  })),
  caseOf(
    "mergeMoments",
    { partials: { values: Float64Array.of(2, 3, 1.5, 0.5, 1, 2, 3, 3, 1, 2, 0, 2), kept: 1 } },
    ({ partials }, backend) => ({
      partials: s.mergeMoments([{ partials } as never], { groups: "all", backend }).partials,
    }),
  ),
  caseOf("whiten", { values: tokens() }, ({ values }, backend) => ({
    whitened: s.whiten(values, { ...layout, groups: rowGroups, backend }),
  })),
  caseOf('whiten, nan "abstain"', { values: tokens() }, ({ values }, backend) => ({
    whitened: s.whiten(values, { ...layout, over: "all", nan: "abstain", backend }),
  })),
  caseOf("endValues", { values: { ...tokens(), kept: 2 } }, ({ values }) => ({
    picked: s.endValues(values, { ...layout, at: "last" }),
  })),
  caseOf(
    "affine",
    { values: tokens(), center: wideRows(), scale: wideRows() },
    ({ values, center, scale }, backend) => ({ mapped: s.affine(values, { ...layout, center, scale, backend }) }),
  ),
  caseOf("clamp", { values: tokens() }, ({ values }, backend) =>
    s.clamp(values, { ...layout, low: -0.5, high: 0.5, backend }),
  ),
  caseOf(
    "gammaWeights",
    { logRatios: tokens(), signs: rows(), factors: tokens(0.5, 1.5) },
    ({ logRatios, signs, factors }, backend) => s.gammaWeights(logRatios, signs, { ...layout, factors, backend }),
  ),

  caseOf("quantileMask", { values: tokens() }, ({ values }, backend) =>
    s.quantileMask(values, { ...layout, q: 0.6, backend }),
  ),
  caseOf("topMask", { values: tokens() }, ({ values }, backend) => s.topMask(values, { ...layout, k: 2, backend })),
  caseOf("topMask, all", { values: tokens() }, ({ values }, backend) =>
    s.topMask(values, { ...layout, over: "all", share: 0.4, backend }),
  ),
  caseOf("covarianceMask, k", { logProbs: logProbs(), advantages: tokens() }, (given, backend) =>
    s.covarianceMask(given.logProbs, given.advantages, { ...layout, k: 3, backend }),
  ),
  caseOf("covarianceMask, between", { logProbs: logProbs(), advantages: rows() }, (given, backend) =>
    s.covarianceMask(given.logProbs, given.advantages, { ...layout, between: [0, 9], backend }),
  ),

  caseOf("spanMeans", { values: unmasked() }, ({ values }, backend) => ({
    means: s.spanMeans(values, spans, { shape, backend }),
  })),
  caseOf('stepWeights, nonFinite "throw"', { entropies: wide(4) }, ({ entropies }, backend) =>
    s.stepWeights(entropies, { backend }),
  ),
  caseOf('stepWeights, nonFinite "propagate"', { entropies: wide(4) }, ({ entropies }, backend) =>
    s.stepWeights(entropies, { nonFinite: "propagate", backend }),
  ),
  caseOf(
    "modulateSpans",
    { advantages: unmasked(), scales: wide(3), clarities: wide(3) },
    ({ advantages, scales, clarities }, backend) =>
      s.modulateSpans(advantages, spans, { ...layout, scales, clarities, zeta: 0.1, scope: "segments", backend }),
  ),
  ...(["isolate", "group", "propagate"] as const).map((nonFinite) =>
    caseOf(`sequenceWeights, nonFinite "${nonFinite}"`, { values: tokens(0.5, 1.5) }, ({ values }, backend) =>
      s.sequenceWeights(values, { ...layout, groups: rowGroups, positive: rowMask, nonFinite, backend }),
    ),
  ),

  ...(["k1", "k3", "ratio", "distance"] as const).map((statistic) =>
    caseOf(`measureMismatch, ${statistic}`, { logProbs: logProbs(), oldLogProbs: logProbs() }, (given, backend) => {
      const { moments, bounded, ...rest } = s.measureMismatch(given.logProbs, given.oldLogProbs, {
        ...layout,
        statistic,
        low: 0.5,
        high: 2,
        backend,
      });
      return { moments: moments.partials, bounded: bounded.partials, ...rest };
    }),
  ),
  ...(["clamp", "zero"] as const).map((outside) =>
    caseOf(
      `boundMismatch, outside "${outside}"`,
      { logProbs: logProbs(), oldLogProbs: logProbs(), rowFactors: wideRows() },
      (given, backend) =>
        s.boundMismatch(given.logProbs, given.oldLogProbs, {
          ...layout,
          statistic: "ratio",
          low: 0.5,
          high: 2,
          outside,
          rowFactors: given.rowFactors,
          backend,
        }),
    ),
  ),

  caseOf("groupBroadcast", { row: rows(), rowFactors: rows() }, ({ row, rowFactors }, backend) => ({
    tokens: s.groupBroadcast(row, { ...layout, rowFactors, backend }),
  })),
  caseOf(
    "groupPlace",
    { row: rows(), tokens: tokens(), values: tokens() },
    ({ row, tokens: given, values }, backend) => ({
      placed: s.groupPlace({ row, tokens: given, values }, { ...layout, scale: -0.1, clip: [-1, 1], backend }),
    }),
  ),
  caseOf("groupColumns", { values: tokens(), weights: tokens(0.5, 1.5) }, ({ values, weights }, backend) =>
    s.groupColumns(values, weights, { ...layout, groups: rowGroups, backend }),
  ),
];
