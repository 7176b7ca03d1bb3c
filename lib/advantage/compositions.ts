// Estimators by composition: what papers and trainers name, made of functions that are here. They go by their names alone;
// docs/recipes.md shows each as a program, with its formula and source.
import type { BackendOption } from "../backend/select";
import {
  NO_BASELINES,
  type RoleBaselines,
  type RoleBaselinesOptions,
  updateRoleBaselines,
} from "../control/role-baselines";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { optionError, rangeError } from "../core/errors";
import { type GroupLabels, needGroups } from "../core/groups";
import { needNumber } from "../core/option-checks";
import type { RowLayout } from "../core/row-layout";
import { groupSoftmax } from "../ops/group";
import { gatherFloats } from "../ops/group/items";
import { normalizeItems } from "../ops/group/normalize";
import { placeRows } from "../ops/group/place";
import { logRatio } from "../ops/ratio";
import { keptPerRow } from "../ops/reduce/count-kept";
import { mapAffinely } from "../ops/reduce/affine";
import { discountedReturns } from "../ops/scan";
import { grpoAdvantage, type GrpoAdvantageOptions } from "./grpo-advantage";
import {
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";
import { needRewardedBatch, type RewardedBatch, type RowAdvantages, spreadRows } from "./rewarded-batch";

export interface MaxRlOptions extends OutcomeOptions, Pick<GrpoAdvantageOptions, "epsilon" | "singleton" | "nan"> {
  /** `"signedMean"`: a mean below 0 divides, too, as in SkyRL. Default `"mean"`: such a group gets 0. */
  readonly scale?: "mean" | "signedMean";
}

/** MaxRL: (s_b − mean) / (mean + ε); ε is 0 by default. */
export function maxRlAdvantage(batch: OutcomeBatch, options: MaxRlOptions = {}): OutcomeAdvantageResult {
  const { scale = "mean", epsilon = 0 } = options;
  return grpoAdvantage(batch, { ...options, scale, epsilon });
}

export interface LambdaGrpoOptions extends OutcomeOptions {
  /** The exponent λ, which is learnt: > 0 prefers long responses, < 0 short ones, 0 none. */
  readonly lambda: number;
  /** r > 0: how far a std of length moves the base of the power from 1, which has to stay above 0. */
  readonly lengthScale: number;
  /** Added to the std of the lengths, >= 0. Default 1e-6. */
  readonly epsilon?: number;
}

/**
 * λ-GRPO: GRPO's advantages times f_b = G·softmax(h_b^λ), h_b = 1 + r·(n_b − mean) / (std + ε), n_b the kept tokens of a row, over its
 * group of G; for losses with `aggregation: "tokenMean"`.
 */
export function lambdaGrpoAdvantage(
  batch: OutcomeBatch,
  options: LambdaGrpoOptions,
): OutcomeAdvantageResult & { readonly weights: Float64Array } {
  const op = "lambdaGrpoAdvantage";
  const lambda = needNumber(op, "lambda", options.lambda);
  const r = needNumber(op, "lengthScale", options.lengthScale, { min: 0, above: true });
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-6, { min: 0 });
  const { backend, collective } = options;
  const scored = needScores(op, batch, options);
  const { rows, mask, grouping, rewards } = scored.batch;
  const given = compareScores(op, scored, {});
  const lengths = { values: keptPerRow(op, rows, mask, { backend }), groups: needGroups(op, grouping, rows.B) };
  const powers = (normalizeItems(op, lengths, { epsilon, backend, collective }).normalized as Float64Array).map(
    (z, b) => {
      if (1 + r * z > 0) return (1 + r * z) ** lambda;
      throw rangeError(op, "lengthScale", r, `less: 1 + lengthScale·z is ${1 + r * z} at row ${b}`);
    },
  );
  const shares = groupSoftmax(powers, { ...grouping, backend, collective }) as Float64Array;
  const weights = shares.map((share, b) => share * given.counts[given.groupIds[b]!]!);
  const rowAdvantages = given.rowAdvantages.map((a, b) => a * weights[b]!);
  const advantages = spreadRows(op, scored.batch, rowAdvantages, floatDType(rewards), { backend });
  return { ...given, advantages, returns: advantages, rowAdvantages, weights };
}

export interface TreePoBatch extends OutcomeBatch {
  /** A label per row for each level of the tree below the prompt: rows that share a node have the same. */
  readonly branches?: readonly GroupLabels[];
}

/** TreePO: a_b = mean over the levels of s_b − the mean over the rows of b's node; the first level is the group. */
export function treePoAdvantage(batch: TreePoBatch, options: OutcomeOptions = {}): RowAdvantages {
  const op = "treePoAdvantage";
  const scored = needScores(op, batch, options);
  const { rows, grouping, rewards } = scored.batch;
  const levels = [
    needGroups(op, grouping, rows.B),
    ...(batch.branches ?? []).map((groups) => needGroups(op, { groups }, rows.B)),
  ];
  const settings = { scale: "none", backend: options.backend, collective: options.collective } as const;
  const rowAdvantages = new Float64Array(rows.B);
  for (const groups of levels) {
    const { normalized } = normalizeItems(op, { values: scored.scores, groups }, settings);
    for (let b = 0; b < rows.B; ++b) rowAdvantages[b]! += normalized[b]! / levels.length;
  }
  const advantages = spreadRows(op, scored.batch, rowAdvantages, floatDType(rewards), { backend: options.backend });
  return { advantages, rowAdvantages };
}

export interface FipoBatch extends OutcomeBatch {
  /** ℓ, nats, per token. */
  readonly logProbs: FloatArray;
  /** o of the policy that sampled, nats, per token. */
  readonly oldLogProbs: FloatArray;
}

export interface FipoOptions extends OutcomeOptions {
  /** Discount of later tokens, in [0, 1]. */
  readonly gamma: number;
  /** ε: weights lie in [1 − ε, 1 + ε]. Default 0.2. */
  readonly clip?: number;
}

/** FIPO: GRPO's advantages times clip(e^F_t, 1 − ε, 1 + ε), F_t = Σ_{i ≥ t} γ^(i − t)·(ℓ_i − o_i) over the kept tokens. */
export function fipoAdvantage(
  batch: FipoBatch,
  options: FipoOptions,
): RowAdvantages & { readonly weights: FloatArray } {
  const op = "fipoAdvantage";
  const clip = needNumber(op, "clip", options.clip ?? 0.2, { min: 0, infinite: true });
  const { backend } = options;
  const scored = needScores(op, batch, options);
  const { layout, mask, rows } = scored.batch;
  const { rowAdvantages, advantages } = compareScores(op, scored, {});
  const where = { ...layout, mask: mask ?? undefined, backend };
  const { logRatios } = logRatio(batch.logProbs, batch.oldLogProbs, { ...where, level: "token" });
  const future = discountedReturns(logRatios, { ...where, gamma: options.gamma });
  const weights = future.map((F, i) => (mask?.[i] === 0 ? 0 : Math.min(Math.max(Math.exp(F), 1 - clip), 1 + clip)));
  const scale = Float64Array.from(weights);
  return { advantages: mapAffinely(op, advantages, { shape: [rows.n, 1], scale, backend }), rowAdvantages, weights };
}

export interface RaeBatch extends RewardedBatch {
  readonly rewards: FloatArray;
  /** The role of each row, by its name: a player, an agent. */
  readonly roles: ArrayLike<string | number>;
  /** What the call before returned. Default: no role was seen. */
  readonly state?: RoleBaselines;
}

/** RAE: r_b − the running baseline of its role, which `state` carries from call to call; see `updateRoleBaselines`. */
export function raeAdvantage(
  batch: RaeBatch,
  options: RoleBaselinesOptions & BackendOption & CollectiveOption = {},
): RowAdvantages & { readonly state: RoleBaselines } {
  const op = "raeAdvantage";
  const checked = needRewardedBatch(op, batch, "unread");
  const { collective, backend } = options;
  const { values, begin, end } = gatherFloats(op, collective, Float64Array.from(checked.rewards));
  const roles = collective ? gatherFloats(op, collective, needNumbers(op, batch.roles)).values : batch.roles;
  const { advantages: all, state } = updateRoleBaselines(batch.state ?? NO_BASELINES, values, roles, options);
  const rowAdvantages = all.slice(begin, end);
  const advantages = spreadRows(op, checked, rowAdvantages, floatDType(checked.rewards), { backend });
  return { advantages, rowAdvantages, state };
}

/** Roles that several ranks share: their numbers. */
function needNumbers(op: string, roles: ArrayLike<string | number>): Float64Array {
  const numbers = Float64Array.from(roles, Number);
  const bad = numbers.findIndex((role) => !Number.isFinite(role));
  if (bad < 0) return numbers;
  throw optionError(op, `roles[${bad}]`, roles[bad], "a number, since ranks share it");
}

export interface OpdBatch extends RowLayout {
  /** Log-probs of the sampled tokens under the teacher, nats; [n] as `shape` or `offsets` say. */
  readonly teacherLogProbs: FloatArray;
  /** The same tokens under the student. */
  readonly studentLogProbs: FloatArray;
  /** Advantages of another estimator, per token, to which the teacher's are added. Default: 0. */
  readonly advantages?: FloatArray;
  /** 1 = a token of the response, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** On-policy distillation: A_t + coefficient·(teacher_t − student_t); coefficient 1 by default. */
export function opdAdvantage(
  batch: OpdBatch,
  options: BackendOption & { readonly coefficient?: number } = {},
): { readonly advantages: FloatArray; readonly gaps: FloatArray } {
  const op = "opdAdvantage";
  const { teacherLogProbs, studentLogProbs, advantages: tokens, ...where } = batch;
  const common = { ...where, backend: options.backend };
  const { logRatios: gaps } = logRatio(teacherLogProbs, studentLogProbs, { ...common, level: "token" });
  const scale = needNumber(op, "coefficient", options.coefficient ?? 1);
  return { advantages: placeRows(op, { tokens, values: gaps }, { ...common, scale }, { tokens: "advantages" }), gaps };
}
