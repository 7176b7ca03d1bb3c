// An estimator of computeAdvantages on an experience: where each of its arrays comes from.
import { type AdvantageName, type AdvantageOptions, computeAdvantages } from "../advantage/compute";
import ESTIMATORS from "../advantage/estimators";
import type { PipelineEstimator } from "../advantage/pipeline-estimators";
import type { BackendOption } from "../backend/select";
import type { Collective } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import type { Reading } from "../core/option-kinds";
import { groupPlace } from "../ops/group";
import type { EstimatorResult, Experience } from "./records";
import type { RewardWeights } from "./score";

/** An estimator that `advantagePipeline` does not have. */
export type OwnEstimator = Exclude<AdvantageName, PipelineEstimator>;

/** Arrays that an estimator reads and no experience has, by the names of its batch. */
export type EstimatorInputs<Data> = (experience: Experience<Data>) => Readonly<Record<string, unknown>>;

/** An estimator with its own options. */
export type EstimatorSteps<Data = unknown> = {
  [Name in OwnEstimator]: {
    readonly estimator: Name;
    /** What the estimator reads and the experience lacks, such as the `baselines` of `"remax"`. */
    readonly inputs?: EstimatorInputs<Data>;
    /** What a nat of KL costs, where it enters the advantages. Default: the coefficient of the KL controller. */
    readonly klCoefficient?: number;
  } & Omit<AdvantageOptions<Name>, "backend" | "collective" | "out" | "klCoefficient">;
}[OwnEstimator];

interface Entry {
  readonly reads: Readonly<Record<string, Reading>>;
  readonly oneOf?: readonly (readonly string[])[];
  readonly options: Readonly<Record<string, unknown>>;
}

export const isOwn = (name: string): name is OwnEstimator => !("pipeline" in ESTIMATORS[name as AdvantageName]);

/** The option that costs the KL from the reference, where the estimator has one. */
const KL_OPTION: Readonly<Partial<Record<AdvantageName, string>>> = { ppo: "klCoefficient", rlooWithKl: "beta" };

/** Whether a KL coefficient changes its advantages: by an option, or through rewards that lie on tokens. */
export const costsKl = (name: OwnEstimator): boolean =>
  KL_OPTION[name] !== undefined || (ESTIMATORS[name] as Entry).reads["tokenRewards"] === "need";

export const takesOption = (name: AdvantageName, option: string): boolean =>
  Object.hasOwn(ESTIMATORS[name].options, option);

/** Whether an estimator compares what each source says, and not their sum. */
export const readsSources = (name: AdvantageName): boolean =>
  Object.values<Reading>((ESTIMATORS[name] as Entry).reads).includes("named");

/** What an experience has for an array of a batch; undefined where it lacks it. */
const FIELDS: Readonly<Record<string, (experience: Experience) => unknown>> = {
  rewards: ({ rewards }) => rewards,
  scores: ({ rewards }) => rewards,
  values: ({ values }) => values,
  mask: ({ mask }) => mask,
  tokens: ({ tokenIds }) => tokenIds,
  entropies: ({ entropies }) => entropies,
  logProbs: ({ oldLogProbs }) => oldLogProbs,
  oldLogProbs: ({ oldLogProbs }) => oldLogProbs,
  studentLogProbs: ({ oldLogProbs }) => oldLogProbs,
  samplerLogProbs: ({ samplerLogProbs }) => samplerLogProbs,
  referenceLogProbs: ({ referenceLogProbs }) => referenceLogProbs,
  teacherLogProbs: ({ referenceLogProbs }) => referenceLogProbs,
};

/** What to give to the maker, so that an experience has it. */
const GIVEN_BY: Readonly<Record<string, string>> = {
  values: "a critic",
  entropies: "a policy with logits",
  logProbs: "a policy with logProbs or logits",
  oldLogProbs: "a policy with logProbs or logits",
  studentLogProbs: "a policy with logProbs or logits",
  referenceLogProbs: "a reference policy",
  teacherLogProbs: "a reference policy, the teacher",
};

/** −β·kl at kept tokens, and the reward at the last of them. */
function placed(
  { offsets, mask, rewards, kl }: Experience,
  beta: number,
  backend: BackendOption["backend"],
): FloatArray {
  return groupPlace({ row: rewards, values: kl }, { offsets, mask, scale: -beta, backend });
}

interface EstimatorCall<Data> {
  readonly steps: EstimatorSteps<Data>;
  readonly klCoefficient: number | undefined;
  /** Of the sources, where there is one for all rows. */
  readonly weights: RewardWeights | undefined;
  readonly backend: BackendOption["backend"];
  readonly collective: Collective | undefined;
  /** Of the rows, by numbers that no other rank has. */
  readonly groups: Int32Array;
  /** No rows, to check options: `inputs` is not called. */
  readonly dry: boolean;
}

function batchOf<Data>(
  op: string,
  experience: Experience<Data>,
  call: EstimatorCall<Data>,
): Readonly<Record<string, unknown>> {
  const { estimator: name, inputs } = call.steps;
  const { reads, oneOf = [] } = ESTIMATORS[name] as Entry;
  const given: Readonly<Record<string, unknown>> = call.dry || !inputs ? {} : inputs(experience);
  const has = (field: string): unknown => {
    if (given[field] !== undefined) return given[field];
    if (field === "groups") return call.groups;
    if (field === "tokenRewards") return placed(experience, call.klCoefficient ?? 0, call.backend);
    return FIELDS[field]?.(experience);
  };
  const need = (field: string): unknown => {
    const value = has(field);
    if (value !== undefined) return value;
    if (inputs && call.dry) return new Float64Array(0);
    const others = `inputs that return ${field}`;
    const want = GIVEN_BY[field] === undefined ? others : `${GIVEN_BY[field]}, or ${others}`;
    throw optionError(op, field, undefined, `${want}: estimator "${name}" reads it`);
  };
  const batch: Record<string, unknown> = { offsets: experience.offsets, ...given };
  for (const names of oneOf) {
    if (names.some((field) => given[field] !== undefined)) continue;
    const usual = names.filter((field) => reads[field] !== "asked");
    const first = usual.find((field) => has(field) !== undefined) ?? usual[0]!;
    batch[first] = need(first);
  }
  for (const [field, how] of Object.entries(reads)) {
    if (oneOf.some((names) => names.includes(field))) continue;
    const value =
      how === "need"
        ? need(field)
        : how === "named"
          ? Object.values(experience.sourceRewards)
          : how === "take"
            ? has(field)
            : given[field];
    if (value !== undefined) batch[field] = value;
  }
  return batch;
}

/** What the estimator says of an experience. */
export function estimateBy<Data>(op: string, experience: Experience<Data>, call: EstimatorCall<Data>): EstimatorResult {
  const { estimator, inputs: _, klCoefficient: __, ...options } = call.steps;
  const more: Record<string, unknown> = { backend: call.backend };
  // Estimators that look at one row at a time do not read it.
  if (call.collective) more["collective"] = call.collective;
  const kl = KL_OPTION[estimator];
  if (kl !== undefined && call.klCoefficient !== undefined) more[kl] = call.klCoefficient;
  if (readsSources(estimator) && call.weights)
    more["weights"] = Object.keys(experience.sourceRewards).map((source) => call.weights![source] ?? 0);
  // A union over the names: the table holds what each of them takes.
  const compute = computeAdvantages as unknown as (name: string, batch: object, options: object) => EstimatorResult;
  return compute(estimator, batchOf(op, experience, call), { ...more, ...options });
}
