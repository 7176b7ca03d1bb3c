// Every loss as a function of one kind of batch: what it says of the whole, and its arrays per token.
import {
  actorCriticLoss,
  type AggregationMode,
  type aggregateLoss,
  distillationLoss,
  entropyBonus,
  type KlEstimatorName,
  klPenalty,
  listwisePolicyLoss,
  type negativeLogLikelihood,
  type PolicyBatch,
  policyLoss,
  type PolicyLossName,
  sequencePolicyObjective,
  valueLoss,
} from "../../../lib";
import type { TokenBatch } from "../../advantage/laws/token-batch";
import type { BackendName } from "../../support/each-backend";

/** Counts of a larger batch that this one is a part of. */
export interface Counts {
  readonly tokens?: number;
  readonly rows?: number;
  readonly workers?: number;
}

export interface LossRun {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** Gradients, per token. */
  readonly gradients: Readonly<Record<string, ArrayLike<number>>>;
  /** Whatever else there is per token. */
  readonly perToken: Readonly<Record<string, ArrayLike<number>>>;
}

interface RunSettings {
  readonly backend: BackendName;
  readonly counts?: Counts;
  /** All advantages, rewards or weights are 0. */
  readonly zero?: boolean;
}
export type Run = (batch: TokenBatch, settings: RunSettings) => LossRun;

const LENGTH = 9;
const whereOf = ({ layout, mask }: TokenBatch) => ({ ...layout, mask });
const map = ({ tokens }: TokenBatch, value: (a: number, b: number, c: number) => number): Float64Array =>
  tokens.a.map((a, i) => value(a, tokens.b[i]!, tokens.c[i]!));
const logProbsOf = (batch: TokenBatch): Float64Array => map(batch, (a) => a - 1.5);

interface PolicySettings {
  readonly options?: object;
  readonly aggregation?: AggregationMode;
  readonly advantagesPer?: "row" | "token";
  /** Arrays of the batch beyond old log-probs and advantages. */
  readonly with?: readonly ("kl" | "entropy" | "weights" | "terms" | "rows")[];
}

function policyBatch(
  batch: TokenBatch,
  { advantagesPer = "token", with: extras = [] }: PolicySettings,
  zero: boolean,
): PolicyBatch {
  const advantages =
    advantagesPer === "row" ? Float64Array.from(batch.rewards) : map(batch, (a, b, c) => 2 * c - b * a);
  return {
    ...whereOf(batch),
    logProbs: logProbsOf(batch),
    // Ratios from e^-0.9 to e^0.9: on both sides of every clip edge.
    oldLogProbs: map(batch, (a, b) => a - 1.5 - 0.9 * b),
    samplerLogProbs: map(batch, (a, b, c) => a - 1.5 - 0.9 * b + 0.1 * c),
    advantages: zero ? advantages.fill(0) : advantages,
    advantagesPer,
    ...(extras.includes("kl") && { referenceLogProbs: map(batch, (_, __, c) => c - 1.5) }),
    ...(extras.includes("entropy") && { entropies: map(batch, (a, _, c) => 1.2 + a * c) }),
    ...(extras.includes("weights") && {
      rolloutWeights: map(batch, (_, __, c) => Math.exp(c)),
      rolloutWeightsPer: "token" as const,
    }),
    ...(extras.includes("terms") && { termMask: Uint8Array.from(batch.ids, (id) => (id > 1 ? 1 : 0)) }),
    ...(extras.includes("rows") && { rowMask: Uint8Array.from(batch.groups, (group) => (group === "1" ? 0 : 1)) }),
  };
}

/** A loss of policyLoss. */
export function policy(name: PolicyLossName, settings: PolicySettings = {}): Run {
  const { options = {}, aggregation = "tokenMean", with: extras = [] } = settings;
  const evaluate = policyLoss as unknown as (
    name: string,
    batch: PolicyBatch,
    options: object,
  ) => ReturnType<typeof policyLoss<"ppo">>;
  return (batch, { backend, counts = {}, zero = false }) => {
    const reference = name === "flowRl" && { referenceLogProbs: map(batch, (_, __, c) => c - 1.5) };
    const given = { ...policyBatch(batch, settings, zero), ...reference };
    const { loss, metrics, gradLogProbs, gradEntropies, losses, ratios, kl, clipped } = evaluate(name, given, {
      aggregation,
      length: LENGTH,
      ...(extras.includes("kl") && { kl: { coefficient: 0.3 } }),
      ...(extras.includes("entropy") && { entropyBonus: { coefficient: 0.2 } }),
      ...counts,
      ...options,
      backend,
    });
    const perToken = Object.entries({ losses, ratios, kl, clipped }).flatMap(([key, values]) =>
      values?.length === batch.mask.length ? [[key, values] as const] : [],
    );
    return {
      loss,
      metrics,
      gradients: { gradLogProbs, ...(gradEntropies && { gradEntropies }) },
      perToken: Object.fromEntries(perToken),
    };
  };
}

const valueBatch = (batch: TokenBatch) => ({
  values: map(batch, (a) => a),
  oldValues: map(batch, (a, b) => a + 0.5 * b),
  returns: map(batch, (_, b, c) => b + c),
});

export const value =
  (clip: number | undefined, aggregation: AggregationMode, huberDelta?: number): Run =>
  (batch, { backend, counts = {} }) => {
    const options = { aggregation, length: LENGTH, clip, huberDelta, ...counts, backend };
    const { loss, metrics, gradValues, losses, clipped } = valueLoss(
      { ...whereOf(batch), ...valueBatch(batch) },
      options,
    );
    return { loss, metrics, gradients: { gradValues }, perToken: { losses, clipped } };
  };

export const actorCritic =
  (aggregation: AggregationMode): Run =>
  (batch, { backend, counts = {}, zero = false }) => {
    const given = { ...policyBatch(batch, {}, zero), ...valueBatch(batch) };
    const options = { clip: 0.2, valueClip: 0.1, aggregation, length: LENGTH, ...counts, backend };
    const { loss, policy: actor, value: critic, gradLogProbs, gradValues } = actorCriticLoss(given, options);
    const both: LossRun["gradients"] = { gradLogProbs, gradValues };
    return {
      // The critic does not care about advantages.
      loss: zero ? actor.loss : loss,
      metrics: { ...actor.metrics, ...critic.metrics },
      gradients: zero ? { gradLogProbs } : both,
      perToken: { losses: actor.losses, errors: critic.losses },
    };
  };

export const penalty =
  (estimator: KlEstimatorName, clamps: object = {}): Run =>
  (batch, { backend }) => {
    const reference = map(batch, (_, __, c) => c - 1.5);
    const { values, gradLogProbs, rowSums, mean } = klPenalty(logProbsOf(batch), reference, {
      estimator,
      ...clamps,
      ...whereOf(batch),
      backend,
    });
    return {
      loss: rowSums.reduce((sum, x) => sum + x, 0),
      metrics: { mean },
      gradients: { gradLogProbs },
      perToken: { values },
    };
  };

export const bonus =
  (mode: AggregationMode): Run =>
  (batch, { backend, counts = {} }) => {
    const entropies = map(batch, (a, _, c) => 1.2 + a * c);
    const { loss, gradEntropies, meanEntropy } = entropyBonus(entropies, {
      coefficient: 0.7,
      mode,
      length: LENGTH,
      ...whereOf(batch),
      ...counts,
      backend,
    });
    return { loss, metrics: { meanEntropy }, gradients: { gradEntropies }, perToken: {} };
  };

export const aggregate =
  (mode: AggregationMode, op: typeof aggregateLoss | typeof negativeLogLikelihood): Run =>
  (batch, { backend, counts = {} }) => {
    const { loss, gradients } = op(logProbsOf(batch), { mode, length: LENGTH, ...whereOf(batch), ...counts, backend });
    return { loss, metrics: {}, gradients: { gradients }, perToken: {} };
  };

export const sequence: Run = (batch, { backend, zero = false }) => {
  const options = { clip: 0.2, groups: batch.groups, ...whereOf(batch), emptySequence: "skip" as const, backend };
  const old = map(batch, (a, b) => a - 1.5 - 0.9 * b);
  const rewards = zero ? new Float64Array(batch.rows) : batch.rewards;
  const { objective, gradLogProbs, clipFraction, meanRatio, maxRatio } = sequencePolicyObjective(
    logProbsOf(batch),
    old,
    rewards,
    options,
  );
  return { loss: objective, metrics: { clipFraction, meanRatio, maxRatio }, gradients: { gradLogProbs }, perToken: {} };
};

export const listwise =
  (lengthNormalize: boolean): Run =>
  (batch, { backend, zero = false }) => {
    const weights = Float64Array.from(batch.rewards, (reward) => (zero ? 0 : 1 + reward));
    const options = { lengthNormalize, groups: batch.groups, ...whereOf(batch), backend };
    const { loss, gradLogProbs } = listwisePolicyLoss(logProbsOf(batch), weights, options);
    return { loss, metrics: {}, gradients: { gradLogProbs }, perToken: {} };
  };

const VOCAB = 4;

export const distillation =
  (options: object): Run =>
  (batch, { backend }) => {
    const logits = (of: (a: number, b: number, c: number) => readonly number[]): Float64Array => {
      const { a, b, c } = batch.tokens;
      return Float64Array.from(Array.from(a).flatMap((_, i) => [...of(a[i]!, b[i]!, c[i]!)]));
    };
    const student = logits((a, b, c) => [3 * a, 3 * b, 3 * c, a * b]);
    const teacher = logits((a, b, c) => [b + c, a, -3 * c, 2 * a]);
    const shape = [batch.mask.length, VOCAB] as const;
    const { loss, metrics, gradStudentLogits, divergences } = distillationLoss(student, teacher, {
      shape,
      mask: batch.mask,
      ...options,
      backend,
    });
    const gradient = gradStudentLogits as Float64Array;
    const column = (id: number) => gradient.filter((_, i) => i % VOCAB === id);
    return {
      loss,
      metrics: { ...metrics },
      gradients: Object.fromEntries(Array.from({ length: VOCAB }, (_, id) => [`logit ${id}`, column(id)])),
      perToken: { divergences },
    };
  };
