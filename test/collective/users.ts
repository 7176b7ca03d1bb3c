// Every function that takes a collective, called once. The program travels to workers as text, and runs here on the whole
// batch, without a collective: there its text sees nothing but its arguments.
import type * as surprisal from "../../lib";
import type { Collective } from "../../lib";
import { rng } from "../support/rng";

const TOKENS = 12;

/** A part of a batch; per-token arrays are [rows, TOKENS]. */
export interface Part {
  readonly backend: surprisal.BackendChoice;
  readonly rows: number;
  readonly rewards: Float32Array;
  readonly scores: Float64Array;
  readonly other: Float64Array;
  readonly groups: Int32Array;
  readonly mask: Uint8Array;
  readonly tokenRewards: Float32Array;
  readonly values: Float32Array;
  readonly logProbs: Float32Array;
  readonly reference: Float32Array;
  readonly entropies: Float32Array;
  readonly advantages: Float32Array;
  readonly tokens: Int32Array;
  readonly widths: readonly number[];
}

/** `own`: of the rows here, to be joined rank by rank. `shared`: the same on every rank. */
export interface Answer {
  readonly own: Readonly<Record<string, ArrayLike<number>>>;
  readonly shared: Readonly<Record<string, unknown>>;
}

const PER_TOKEN = [
  "mask",
  "tokenRewards",
  "values",
  "logProbs",
  "reference",
  "entropies",
  "advantages",
  "tokens",
] as const;
const PER_ROW = ["rewards", "scores", "other", "groups"] as const;

export function wholeBatch(seed: number, rows: number, backend: surprisal.BackendChoice): Part {
  const r = rng(seed);
  const n = rows * TOKENS;
  const tokens = r.i32(n, 0, 9); // 1 begins a step, 2 ends it
  const mask = r.mask(n, 0.8);
  mask.fill(0, TOKENS, 2 * TOKENS); // a row without tokens
  const other = r.f64(rows, -1, 1);
  other[3] = NaN; // one reward function abstains
  return {
    backend,
    rows,
    rewards: r.f32(rows, -2, 3),
    scores: r.f64(rows).map((x) => Math.round(x * 2)),
    other,
    groups: r.i32(rows, 10, 14),
    mask,
    tokenRewards: r.f32(n, -1, 1),
    values: r.f32(n, -1, 1),
    logProbs: r.f32(n, -3, -0.01),
    reference: r.f32(n, -3, -0.01),
    entropies: r.f32(n, 0, 2),
    advantages: r.f32(n, -1, 1),
    tokens,
    widths: [],
  };
}

/** Rows cuts[i] … cuts[i + 1] for each rank. */
export function partsOf(whole: Part, cuts: readonly number[]): Part[] {
  return cuts.slice(1).map((end, i) => {
    const begin = cuts[i]!;
    const part: Record<string, unknown> = { ...whole, rows: end - begin };
    for (const name of PER_ROW) part[name] = whole[name].slice(begin, end);
    for (const name of PER_TOKEN) part[name] = whole[name].slice(begin * TOKENS, end * TOKENS);
    return part as unknown as Part;
  });
}

export function everyUser(collective: Collective | undefined, s: typeof surprisal, p: Part): Record<string, Answer> {
  const { backend, rows, mask, groups, rewards } = p;
  const run = { backend, ...(collective && { collective }) };
  const shape = [rows, 12] as const;
  const where = { shape, mask, ...run };
  const outcome = { rewards, groups, mask, shape };
  const doubles = Float64Array.from(rewards);
  const own = (o: Answer["own"], shared: Answer["shared"] = {}): Answer => ({ own: o, shared });
  const result: Record<string, Answer> = {};

  const all = s.moments(p.advantages, { ...where, over: "all" });
  const grouped = s.moments(p.advantages, { ...where, groups });
  result["moments"] = own(
    { rows: s.moments(p.advantages, { ...where, over: "row" }).means },
    { all: all.partials, grouped: grouped.partials },
  );
  result["whiten"] = own({
    all: s.whiten(p.advantages, { ...where, over: "all" }),
    group: s.whiten(p.advantages, { ...where, groups, ddof: 0 }),
    row: s.whiten(p.advantages, { ...where, over: "row" }),
  });
  const weighted = s.groupNormalize(rewards, {
    groups,
    weights: Float32Array.from(p.scores),
    center: "leaveOneOut",
    ...run,
  });
  result["groupNormalize"] = own(
    {
      normalized: weighted.normalized,
      ids: weighted.groupIds,
      whole: s.groupNormalize(rewards, { groups: "all", ...run }).normalized,
    },
    { means: weighted.means, stds: weighted.stds },
  );
  const lse = s.groupLogSumExp(rewards, { groups, temperature: 0.7, ...run });
  const best = s.groupTop2(rewards, { groups, ...run });
  result["group softmax, top-2 and weights"] = own(
    {
      softmax: s.groupSoftmax(rewards, { groups, temperature: 0.5, ...run }),
      ids: lse.groupIds,
      weigh: s.groupWeigh(rewards, { form: "extremes", atMax: 1, atMin: 0.5, between: 0 }, { groups, ...run }),
    },
    { lse: lse.logSumExps, soft: lse.softMeans, best: best.best, second: best.secondValues },
  );
  const columns = s.groupColumns(p.advantages, p.entropies, { ...where, groups, zeroTail: true });
  result["groupColumns"] = own({ baselines: columns.baselines, centred: columns.centred });

  const group = s.grpoAdvantage({ tokenRewards: p.tokenRewards, mask, shape, groups }, run);
  result["grpoAdvantage"] = own(
    { tokens: group.advantages, rows: group.rowAdvantages, ids: group.groupIds },
    { means: group.means, stds: group.stds, counts: group.counts },
  );
  const outcomes = {
    grpo: s.grpoAdvantage(outcome, { ...run, preset: "verl" }),
    rloo: s.rlooAdvantage(outcome, run),
    opo: s.opoAdvantage(outcome, run),
    passAtK: s.passAtKAdvantage(outcome, run),
    gpg: s.gpgAdvantage({ ...outcome, rewards: p.scores }, run),
    reinforceBaseline: s.reinforcePlusPlusBaselineAdvantage(outcome, run),
  };
  for (const [name, found] of Object.entries(outcomes))
    result[name] = own({ tokens: found.advantages, rows: found.rowAdvantages }, { means: found.means });
  result["gpg"] = own({ tokens: outcomes.gpg.advantages }, { alpha: outcomes.gpg.alpha });
  const tokenBatch = { tokenRewards: p.tokenRewards, mask, shape };
  const gae = s.gaeAdvantage({ ...tokenBatch, values: p.values }, { gamma: 0.98, lambda: 0.9, ...run });
  const reinforce = s.reinforcePlusPlusAdvantage(tokenBatch, { gamma: 0.99, ...run });
  result["gae and reinforce++"] = own({ gae: gae.advantages, reinforce: reinforce.advantages });
  const baseline = s.optimalTokenBaselineAdvantage(
    { ...tokenBatch, groups, logProbs: p.logProbs, sumSquares: p.entropies },
    { ...run, columns: "kept" },
  );
  result["optimal token baseline"] = own({ advantages: baseline.advantages, baselines: baseline.baselines });
  const ppo = s.ppoAdvantage(
    { scores: rewards, logProbs: p.logProbs, referenceLogProbs: p.reference, values: p.values, mask, shape },
    { gamma: 1, lambda: 0.95, klCoefficient: 0.1, whitenRewards: true, ...run },
  );
  result["ppo"] = own({ advantages: ppo.advantages, rewards: ppo.rewards, returns: ppo.returns });
  const penalised = s.rlooWithKlAdvantage(
    {
      rewards: [doubles, p.other],
      groups,
      shape,
      mask,
      oldLogProbs: p.logProbs,
      referenceLogProbs: p.reference,
    },
    { beta: 0.1, normalize: true, ...run },
  );
  result["rloo with kl"] = own({ advantages: penalised.rowAdvantages, rewards: penalised.rewards });
  for (const scale of ["batch", "group"] as const) {
    const multi = s.multiRewardAdvantage({ rewards: [doubles, p.other], groups }, { scale, preset: "trl", ...run });
    result[`multi-reward, scale ${scale}`] = own(
      { advantages: multi.advantages, stds: multi.stds, zero: multi.zeroStd },
      { ...multi.metrics },
    );
  }
  const decoupled = s.multiRewardAdvantage(
    { rewards: [doubles, p.other], groups },
    { aggregation: "normalizeThenSum", ...run },
  );
  result["multi-reward, normalise then sum"] = own({ advantages: decoupled.advantages }, { ...decoupled.metrics });
  const cpgd = s.cpgdAdvantage({ rewards, mask, shape }, run);
  result["cpgd"] = own({
    std: cpgd.rowAdvantages,
    filter: s.cpgdAdvantage({ rewards, mask, shape }, { weighting: "clipFilter", clip: 100, ...run }).rowAdvantages,
  });
  const shaped = s.shapeGroupRewards(p.scores, {
    estimator: "grpo",
    preset: "lightrft",
    groups,
    shape,
    mask,
    ...run,
  });
  result["shapeGroupRewards"] = own(
    { rewards: shaped.rewards, mask: shaped.mask, ids: shaped.groupIds },
    { kept: shaped.keptGroups },
  );
  const filter = s.clipFilterWeights(p.scores, { groups, ...run });
  result["clip-filter and resampling weights"] = own(
    { weights: filter.weights, drawn: s.resamplingWeights(outcome, { method: "maxMin", ...run }) },
    { degenerate: filter.degenerate },
  );
  const optimal = s.optimalValueAdvantage({ rewards, groups }, { beta: 0.3, ...run });
  result["optimal value"] = own({ advantages: optimal.advantages }, { values: optimal.values });
  const estimated = s.estimateAdvantages(
    { tokenRewards: p.tokenRewards, mask, shape },
    { estimator: "reinforcePlusPlus", whiten: true, gamma: 0.9, advantageClip: 1.5, ...run },
  );
  result["estimateAdvantages"] = own({ advantages: estimated.advantages, returns: estimated.returns });

  const empg = s.empgAdvantage(
    { tokens: p.tokens, entropies: p.entropies, advantages: p.advantages, mask, shape },
    { start: [1], end: [2], zeta: 0.2, ...run },
  );
  const everywhere = s.empgAdvantage(
    { tokens: p.tokens, entropies: p.entropies, rowAdvantages: doubles, mask, shape },
    { start: [1], end: [2], scope: "segments", ...run },
  );
  result["empg"] = own(
    {
      advantages: empg.advantages,
      norms: empg.entropyNorms,
      scales: empg.scales,
      clarities: empg.clarities,
      spread: everywhere.advantages,
    },
    { mean: empg.mean, other: everywhere.mean },
  );
  const egpo = s.egpoAdvantage({ ...outcome, oldLogProbs: p.logProbs }, { mode: "joint", ...run });
  result["egpo"] = own(
    { advantages: egpo.advantages, weights: egpo.weights, ratios: egpo.entropyRatios, lengths: egpo.lengths },
    { ...egpo.metrics },
  );
  const maxent = s.maxentAdvantage({ ...outcome, referenceLogProbs: p.reference }, { tau: 0.5, beta: 0.5, ...run });
  result["maxent"] = own({ advantages: maxent.advantages, weights: maxent.weights }, { ...maxent.metrics });
  const edge = s.edgeGrpoAdvantage({ ...outcome, entropies: p.entropies }, { weightMode: "zscore", ...run });
  result["edge"] = own(
    { advantages: edge.advantages, weights: edge.weights, means: edge.groupMeanEntropies },
    { ...edge.metrics },
  );

  for (const mode of ["tokenMean", "rowMean", "rowSum", "fixedLength", "verl/token-mean", "trl/grpo"] as const) {
    const loss = s.aggregateLoss(p.advantages, { ...where, mode });
    result[`loss, ${mode}`] = own({ weights: loss.rowWeights, gradients: loss.gradients }, { loss: loss.loss });
  }
  result["negative log-likelihood"] = own(
    {},
    { loss: s.negativeLogLikelihood(p.logProbs, { ...where, mode: "tokenMean" }).loss },
  );
  const tilt = s.groupTilt(s.groupSoftmax(rewards, { groups, ...run }), {
    groups,
    logFactors: p.scores,
    counts: p.rewards,
    temperature: 0.4,
    ...run,
  });
  const spread = s.groupEntropy(doubles, { groups, normalize: true, least: 1e-3, ...run });
  result["groupTilt and groupEntropy"] = own(
    { tilt, ids: spread.groupIds },
    { entropies: spread.entropies, evennesses: spread.evennesses },
  );
  const distribution = s.rewardDistribution(rewards, { groups, temperature: 0.8, floor: 0.01, ...run });
  const weights = s.listwiseWeights(distribution, {
    groups,
    temperature: 0.5,
    beta: 0.2,
    referenceLogProbs: rewards,
    ...run,
  });
  result["reward distribution and listwise weights"] = own({
    distribution,
    weights,
    uniform: s.uniformListwiseWeights({ groups, ...run }),
  });
  const entropies = s.weightEntropies(weights, { groups, ...run });
  result["weight entropies"] = own(
    { deviations: entropies.deviations },
    { all: entropies.entropies, mean: entropies.mean, min: entropies.min, max: entropies.max },
  );
  const statistics = [
    s.weightStatistics(weights, { groups, ...run })!,
    s.uniformWeightStatistics({ groups, ...run })!,
    s.listwiseWeightStatistics(
      distribution,
      { means: rewards },
      { groupOffsets: Int32Array.from({ length: rows + 1 }, (_, i) => i), temperature: 0.5, beta: 0.2, ...run },
    )!,
    s.advantageWeightStatistics({ rewards: doubles }, { groups, ...run })!,
  ];
  statistics.forEach((one, i) => {
    const { entropy, entropyMin, entropyMax, counts } = one;
    result[`weight statistics ${i}`] = own(
      { weights: one.weights, ids: one.groupIds, deviations: one.deviations },
      { entropy, entropyMin, entropyMax, counts },
    );
  });
  result["weight logging view"] = own({}, { ...s.weightLoggingView(statistics[0]!, run) });
  const semantic = { logProbSums: doubles, clusters: Array.from(p.scores, (id) => (id === 0 ? null : id)) };
  const seed = s.semanticEntropyScales(semantic, { groups, lengthNormalize: false, ...run });
  result["semantic entropy"] = own({}, { ...seed });
  const rewarded = s.rewardStatistics(
    {
      rewards: [rewards, p.other],
      groups,
      ...semantic,
      completions: Array.from(rewards, (x) => ({ truncated: x > 2 })),
    },
    { zeroTruncated: true, semanticEntropy: { lengthNormalize: false, alpha: 0.4 }, ...run },
  )!;
  result["reward statistics"] = own(
    {
      totals: rewarded.totals,
      advantages: rewarded.advantages,
      distribution: rewarded.distribution,
      ids: rewarded.groupIds,
      truncated: rewarded.truncated!,
    },
    { mean: rewarded.mean, std: rewarded.std, counts: rewarded.counts, scales: rewarded.semanticEntropy!.scales },
  );
  for (const level of ["token", "sequence"] as const) {
    const clipped = s.clippedObjective(p.logProbs, p.reference, rewards, {
      level,
      clipLow: 0.2,
      clipHigh: 0.3,
      dualClip: 3,
      advantagesPer: "row",
      outputs: ["losses", "gradLogProbs"],
      ...where,
    });
    const { objective, clipFraction, dualClipFraction, meanRatio, maxRatio } = clipped;
    result[`clipped objective, ${level}`] = own(
      { gradients: clipped.gradLogProbs, losses: clipped.losses },
      { objective, clipFraction, dualClipFraction, meanRatio, maxRatio },
    );
  }
  const gspo = s.sequencePolicyObjective(p.logProbs, p.reference, rewards, {
    clipLow: 0.2,
    clipHigh: 0.3,
    groups,
    emptySequence: "skip",
    ...where,
  });
  const { objective, clipFraction, meanRatio, maxRatio, rewardMean, rewardStd } = gspo;
  result["sequence policy objective"] = own(
    {
      gradients: gspo.gradLogProbs,
      advantages: gspo.advantages,
      ratios: gspo.ratios,
      terms: gspo.perSequence,
      clipped: gspo.clipped,
    },
    { objective, clipFraction, meanRatio, maxRatio, rewardMean, rewardStd },
  );
  // All tokens count: a completion without any is refused.
  const listwise = s.listwisePolicyLoss(p.logProbs, weights, { shape, groups, ...run });
  result["listwise policy loss"] = own(
    { gradients: listwise.gradLogProbs, scores: listwise.scores, policy: listwise.policyWeights },
    { loss: listwise.loss, losses: listwise.losses },
  );
  const moving = s.updateRunningMoments({ count: 3, mean: 0.25, m2: 1.5 }, rewards, { collective: run.collective });
  result["running moments"] = own({}, { ...moving.moments, batch: moving.batch });
  return result;
}
