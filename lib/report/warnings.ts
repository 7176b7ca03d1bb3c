// What deserves a second look, as sentences.
import { LEAST_FOR_CORRELATION, SERIOUS_EQUAL_REWARDS, type WarningLimits } from "./limits";
import { counted, percent, shortNumber, signedNumber } from "./numbers";
import type { StepSummary, Warning } from "./summary";

type Limits = Required<WarningLimits>;
type Measured = Omit<StepSummary, "warnings">;

function equalRewards({ equalRewardGroups: value }: Measured, { equalRewards: limit }: Limits): Warning[] {
  if (value === null || value < limit || value === 0) return [];
  const severity = value >= SERIOUS_EQUAL_REWARDS ? "serious" : "notable";
  return [
    {
      code: "equal-rewards",
      severity,
      message: `${percent(value)} of groups have equal rewards: no gradient`,
      value,
      limit,
    },
  ];
}

function singleRollouts({ groups }: Measured): Warning[] {
  const value = groups.filter(({ rollouts }) => rollouts.length === 1).length / groups.length;
  if (!(value > 0)) return [];
  const message = `${percent(value)} of groups have one rollout: nothing to compare it with`;
  return [{ code: "single-rollout-groups", severity: value === 1 ? "serious" : "notable", message, value, limit: 0 }];
}

function lengthReward(
  { lengthRewardCorrelation: value, rollouts }: Measured,
  { lengthRewardCorrelation: limit }: Limits,
): Warning[] {
  if (value === null || Math.abs(value) < limit || rollouts < LEAST_FOR_CORRELATION) return [];
  const message = `${value > 0 ? "Longer" : "Shorter"} responses get more reward (r = ${signedNumber(Number(value.toFixed(2)))}): length may be what is learnt`;
  return [{ code: "length-reward-correlation", severity: "notable", message, value, limit }];
}

function entropyCollapse(
  { distributions }: Measured,
  first: Measured,
  { entropy: floor, entropyShare }: Limits,
): Warning[] {
  const value = distributions.entropy?.mean;
  const start = first.distributions.entropy?.mean;
  if (value === undefined || start === undefined) return [];
  const share = value < entropyShare * start;
  if (!share && value >= floor) return [];
  const fall = share ? `, ${percent(value / start)} of the first step's ${shortNumber(start)}` : "";
  const message = `Entropy has collapsed: ${shortNumber(value)} nats a token${fall}`;
  return [
    { code: "entropy-collapse", severity: "serious", message, value, limit: share ? entropyShare * start : floor },
  ];
}

function samplerGap({ samplerGap: gap }: Measured, { samplerGap: limit }: Limits): Warning[] {
  if (gap === null || gap.meanAbsolute < limit) return [];
  const message = `Sampler and trainer disagree: log-probs differ by ${shortNumber(gap.meanAbsolute)} nats a token (at most ${shortNumber(gap.maxAbsolute)})`;
  return [{ code: "sampler-gap", severity: "serious", message, value: gap.meanAbsolute, limit }];
}

function shares({ truncated, clipped }: Measured, limits: Limits): Warning[] {
  const warnings: Warning[] = [];
  if (truncated !== null && truncated >= limits.truncated && truncated > 0)
    warnings.push({
      code: "truncated",
      severity: "notable",
      message: `${percent(truncated)} of responses were cut off`,
      value: truncated,
      limit: limits.truncated,
    });
  if (clipped !== null && clipped >= limits.clipped && clipped > 0)
    warnings.push({
      code: "clipped",
      severity: "notable",
      message: `${percent(clipped)} of tokens were clipped`,
      value: clipped,
      limit: limits.clipped,
    });
  return warnings;
}

function nonFinite({ nonFinite: measures, logProbs }: Measured): Warning[] {
  const counts = [
    ...Object.entries(measures).map(([measure, value]) => [`${measure} value`, value] as const),
    ...Object.entries(logProbs).map(([source, { nonFinite: value }]) => [`${source} log-prob`, value] as const),
  ];
  return counts.flatMap(([what, value]): Warning[] => {
    if (value === 0) return [];
    const message = `${counted(value, what)} ${value === 1 ? "is" : "are"} not finite`;
    return [{ code: "non-finite", severity: "serious", message, value, limit: 0 }];
  });
}

function positiveLogProbs({ logProbs }: Measured): Warning[] {
  return Object.entries(logProbs).flatMap(([source, { positive: value }]): Warning[] => {
    if (value === 0) return [];
    const message = `${counted(value, `${source} log-prob`)} ${value === 1 ? "is" : "are"} above 0: a probability above 1; are they negated?`;
    return [{ code: "positive-log-probs", severity: "serious", message, value, limit: 0 }];
  });
}

/** The serious ones first. `first` is the first step of the run. */
export function warningsOf(step: Measured, first: Measured, limits: Limits): Warning[] {
  const all = [
    ...nonFinite(step),
    ...positiveLogProbs(step),
    ...equalRewards(step, limits),
    ...singleRollouts(step),
    ...entropyCollapse(step, first, limits),
    ...samplerGap(step, limits),
    ...lengthReward(step, limits),
    ...shares(step, limits),
  ];
  return [
    ...all.filter(({ severity }) => severity === "serious"),
    ...all.filter(({ severity }) => severity === "notable"),
  ];
}
