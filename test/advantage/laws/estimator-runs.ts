// The estimators of computeAdvantages as functions of one kind of batch.
import {
  type AdvantageBatch,
  type AdvantageName,
  type AdvantageOptions,
  computeAdvantages,
  type OutcomeBatch,
} from "../../../lib";
import type { BackendName } from "../../support/each-backend";
import type { TokenBatch } from "./token-batch";

/** Results of an estimator by name: per token or per row. */
export type Results = Readonly<Record<string, ArrayLike<number>>>;
export type Run = (batch: TokenBatch, backend: BackendName) => Results;

const whereOf = ({ layout, mask }: TokenBatch) => ({ ...layout, mask });
const logs = (values: Float64Array): Float64Array => values.map((x) => x - 1.1);
const positive = (values: Float64Array): Float64Array => values.map((x) => x + 1.5);

/** The estimators whose batch has rewards, per row or per token, groups, and where the tokens lie. */
export type Outcome = {
  [Name in AdvantageName]: OutcomeBatch extends AdvantageBatch<Name> ? Name : never;
}[AdvantageName];

/** An estimator of outcome rewards. */
export function outcome<Name extends Outcome>(
  name: Name,
  options: AdvantageOptions<Name>,
  rewards: "row" | "token",
): Run {
  return (batch, backend) => {
    const given = rewards === "row" ? { rewards: batch.rewards } : { tokenRewards: batch.tokens.a };
    const call = computeAdvantages as (
      name: Outcome,
      batch: object,
      options: object,
    ) => { advantages: ArrayLike<number> };
    const { advantages } = call(name, { ...whereOf(batch), groups: batch.groups, ...given }, { ...options, backend });
    return { advantages };
  };
}

export const gae =
  (options: AdvantageOptions<"gae">): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), tokenRewards: batch.tokens.a, values: batch.tokens.b };
    const { advantages, returns, rawAdvantages } = computeAdvantages("gae", given, { ...options, backend });
    return { advantages, returns, raw: rawAdvantages };
  };

export const turnGae =
  (options: AdvantageOptions<"turnGae">): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), tokenRewards: batch.tokens.a, values: batch.tokens.b };
    const { advantages, returns } = computeAdvantages("turnGae", given, { ...options, backend });
    return { advantages, returns };
  };

export const turnReturns =
  (options: AdvantageOptions<"turnReturns">): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), tokenRewards: batch.tokens.a };
    const { advantages, returns } = computeAdvantages("turnReturns", given, { ...options, backend });
    return { advantages, returns };
  };

export const reinforcePlusPlus =
  (options: AdvantageOptions<"reinforcePlusPlus">): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), tokenRewards: batch.tokens.a };
    const { advantages, returns } = computeAdvantages("reinforcePlusPlus", given, { ...options, backend });
    return { advantages, returns, raw: returns };
  };

export const ppo =
  (options: Partial<AdvantageOptions<"ppo">>): Run =>
  (batch, backend) => {
    const { advantages, returns, rewards } = computeAdvantages(
      "ppo",
      {
        ...whereOf(batch),
        scores: batch.rewards,
        logProbs: batch.tokens.b,
        referenceLogProbs: batch.tokens.c,
        values: batch.tokens.b.map((x) => x / 2),
      },
      { gamma: 0.9, lambda: 0.8, klCoefficient: 0.1, ...options, backend },
    );
    return { advantages, returns, rewards };
  };

export const maxent =
  (options: AdvantageOptions<"maxent">): Run =>
  (batch, backend) => {
    const given = {
      ...whereOf(batch),
      groups: batch.groups,
      rewards: batch.rewards,
      referenceLogProbs: logs(batch.tokens.b),
    };
    const { advantages, rowAdvantages, weights } = computeAdvantages("maxent", given, { ...options, backend });
    return { advantages, rowAdvantages, weights };
  };

export const optimalTokenBaseline =
  (options: AdvantageOptions<"optimalTokenBaseline">): Run =>
  (batch, backend) => {
    const { advantages, returns, baselines } = computeAdvantages(
      "optimalTokenBaseline",
      {
        ...whereOf(batch),
        groups: batch.groups,
        tokenRewards: batch.tokens.a,
        logProbs: logs(batch.tokens.b),
        sumSquares: batch.tokens.c.map((x) => x * x),
      },
      { ...options, backend },
    );
    return { advantages, returns, baselines };
  };

export const multiReward =
  (options: AdvantageOptions<"multiReward">): Run =>
  ({ rewards, groups }, backend) => {
    const result = computeAdvantages(
      "multiReward",
      { rewards: [rewards, abstaining(rewards)], groups },
      { weights: [1, 2], ...options, backend },
    );
    return { advantages: result.advantages, sums: result.rewards };
  };
/** A reward function with an opinion of its own, and none on some rows. */
const abstaining = (rewards: Float64Array): Float64Array => rewards.map((x) => (x < -0.7 ? NaN : x * x));

export const rlooWithKl =
  (options: AdvantageOptions<"rlooWithKl">): Run =>
  (batch, backend) => {
    const { layout, mask, groups, rewards, tokens } = batch;
    const given = { ...layout, mask, groups, rewards, oldLogProbs: tokens.b, referenceLogProbs: tokens.c };
    const { rowAdvantages } = computeAdvantages("rlooWithKl", given, { beta: 0.1, ...options, backend });
    return { advantages: rowAdvantages };
  };

export const miniLlm =
  (options: Partial<AdvantageOptions<"miniLlm">>): Run =>
  (batch, backend) => ({
    ...computeAdvantages(
      "miniLlm",
      { ...whereOf(batch), studentLogProbs: batch.tokens.b, teacherLogProbs: batch.tokens.c },
      { gamma: 0.9, ...options, backend },
    ),
  });

export const iwOpd: Run = (batch, backend) => ({
  ...computeAdvantages(
    "iwOpd",
    { ...whereOf(batch), samplerLogProbs: batch.tokens.b, teacherLogProbs: batch.tokens.c },
    { gamma: 0.5, backend },
  ),
});

export const puff =
  (delta: "corrected" | "reward"): Run =>
  ({ layout, tokens: { a, b, c } }, backend) => ({
    ...computeAdvantages(
      "puff",
      { ...layout, tokenRewards: a, values: b, dones: c.map((x) => (x > 0.6 ? 1 : 0)), importanceWeights: positive(c) },
      { gamma: 0.9, lambda: 0.8, delta, backend },
    ),
  });

export const cpgd =
  (options: Partial<AdvantageOptions<"cpgd">>): Run =>
  ({ layout, mask, rewards }, backend) => {
    const { advantages, rowAdvantages } = computeAdvantages(
      "cpgd",
      { ...layout, mask, rewards },
      { ...options, backend },
    );
    return { advantages, rowAdvantages };
  };

export const edgeGrpo =
  (options: AdvantageOptions<"edgeGrpo">): Run =>
  (batch, backend) => {
    const given = {
      ...whereOf(batch),
      groups: batch.groups,
      rewards: batch.rewards,
      entropies: positive(batch.tokens.b),
    };
    const { advantages, returns } = computeAdvantages("edgeGrpo", given, { ...options, backend });
    return { advantages, returns };
  };

export const egpo =
  (options: AdvantageOptions<"egpo">): Run =>
  (batch, backend) => {
    const { advantages, returns } = computeAdvantages(
      "egpo",
      {
        ...whereOf(batch),
        groups: batch.groups,
        rewards: batch.rewards,
        oldLogProbs: logs(batch.tokens.b),
        tokens: batch.ids,
      },
      { thinkEnd: [2], ...options, backend },
    );
    return { advantages, returns };
  };

export const empg =
  (options: Partial<AdvantageOptions<"empg">>): Run =>
  (batch, backend) => {
    const { layout, mask, ids, lengths, rewards, tokens } = batch;
    const { advantages } = computeAdvantages(
      "empg",
      {
        ...layout,
        mask,
        tokens: ids,
        entropies: positive(tokens.b),
        rowAdvantages: rewards,
        ...("shape" in layout && { lengths }),
      },
      { start: [0], end: [1], ...options, backend },
    );
    return { advantages };
  };

/** λ-GRPO with a small step of the base: batches have rows without a kept token, and rows of ten times the length of others. */
export const lambdaGrpo =
  (lambda: number): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), groups: batch.groups, rewards: batch.rewards };
    const { advantages, weights } = computeAdvantages("lambdaGrpo", given, { lambda, lengthScale: 0.2, backend });
    return { advantages, weights };
  };

/** The second level of a tree: each prompt has two branches. */
export const branchOf = ({ groups, baselines }: TokenBatch): string[] =>
  groups.map((group, b) => `${group}/${baselines[b]! < 0 ? "left" : "right"}`);

export const treePo: Run = (batch, backend) => {
  const given = { ...whereOf(batch), groups: batch.groups, rewards: batch.rewards, branches: [branchOf(batch)] };
  const { advantages } = computeAdvantages("treePo", given, { backend });
  return { advantages };
};

export const fipo =
  (logProbs: "moved" | "same"): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), groups: batch.groups, rewards: batch.rewards, oldLogProbs: batch.tokens.b };
    const moved = { ...given, logProbs: logProbs === "moved" ? batch.tokens.c : batch.tokens.b };
    const { advantages, weights } = computeAdvantages("fipo", moved, { gamma: 0.9, clip: 0.3, backend });
    return { advantages, weights };
  };

export const rae: Run = (batch, backend) => {
  const given = { ...whereOf(batch), rewards: batch.rewards, roles: batch.groups };
  return { advantages: computeAdvantages("rae", given, { decay: 0.5, backend }).advantages };
};

export const opd =
  (of: "alone" | "beside"): Run =>
  (batch, backend) => {
    const given = { ...whereOf(batch), studentLogProbs: batch.tokens.b, teacherLogProbs: batch.tokens.c };
    const beside = of === "alone" ? given : { ...given, advantages: batch.tokens.a };
    return { ...computeAdvantages("opd", beside, { coefficient: 0.3, backend }) };
  };

export const gpg = (batch: TokenBatch, backend: BackendName) =>
  computeAdvantages("gpg", { ...whereOf(batch), groups: batch.groups, rewards: batch.rewards }, { backend });

export const optimalValue: Run = ({ rewards, groups }, backend) => ({
  advantages: computeAdvantages("optimalValue", { rewards, groups }, { beta: 0.5, backend }).advantages,
});

export const remax: Run = (batch, backend) => {
  const given = { ...whereOf(batch), tokenRewards: batch.tokens.a, baselines: batch.baselines };
  const { advantages, returns } = computeAdvantages("remax", given, { backend });
  return { advantages, returns };
};
