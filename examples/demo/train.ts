// One run: a cold start on the form of a response, then policy gradient on the rewards.
import { type BackendOption, logprob, logprobBackward } from "../../lib";
import { type Method, METHODS, type MethodName } from "./methods";
import { CLIP, type Judged } from "./objective";
import { Policy } from "./policy";
import { Random } from "./random";
import { demonstrate, sample } from "./sampler";
import { judge, MODULUS, newProblem, response, VOCABULARY } from "./task";

/** The same for every method; nothing here was chosen per method. */
export const SETTINGS = {
  groups: 16,
  groupSize: 8,
  innerSteps: 2,
  clip: CLIP,
  learningRate: 0.01,
  coldStartSteps: 25,
} as const;

export interface Run extends BackendOption {
  readonly method: MethodName;
  readonly seed: number;
  readonly steps: number;
}

/** What one step showed, before its update. */
export interface StepReport {
  readonly step: number;
  readonly batch: Judged;
  /** Log-probs as the sampler had them, token by token; `batch.oldLogProbs` were computed for the whole batch at once. */
  readonly samplerLogProbs: Float32Array;
  readonly reward: number;
  /** Share of right answers. */
  readonly solved: number;
  /** Mean over the policy's tokens, nats. */
  readonly entropy: number;
}

/** Trains from scratch. Deterministic: a run on the same backend repeats to the last bit. @returns the parameters */
export function train({ method: name, seed, steps, ...backend }: Run, onStep: (report: StepReport) => void): Float32Array {
  const method = METHODS[name];
  const policy = new Policy(new Random(seed, 0), SETTINGS.learningRate);
  coldStart(policy, new Random(seed, 1), backend);
  const random = new Random(seed, 2);
  for (let step = 0; step < steps; ++step) onStep(trainStep(policy, random, method, step, backend));
  return policy.parameters;
}

/** Supervised steps on responses of the right form with random digits in them: the form is shown, the arithmetic is not. */
function coldStart(policy: Policy, random: Random, backend: BackendOption): void {
  const rows = SETTINGS.groups * SETTINGS.groupSize;
  const digit = (): number => random.below(MODULUS);
  for (let step = 0; step < SETTINGS.coldStartSteps; ++step) {
    const problems = Array.from({ length: rows }, () => newProblem(random));
    const { features, tokens, mask } = demonstrate(problems, problems.map(() => response(digit(), digit(), digit())));
    const weight = 1 / mask.reduce((sum, kept) => sum + kept, 0);
    const logits = policy.logits(features);
    const options = { shape: [mask.length, VOCABULARY] as const, keep: mask, ...backend };
    const gradLogProbs = new Float32Array(mask.length).fill(weight); // of the mean log-prob
    policy.ascend(features, logprobBackward(logits, tokens, logprob(logits, tokens, options), { ...options, gradLogProbs }));
  }
  policy.restartOptimizer();
}

function trainStep(policy: Policy, random: Random, method: Method, step: number, backend: BackendOption): StepReport {
  const rollouts = sample(policy, random, SETTINGS.groups, SETTINGS.groupSize);
  const { tokens, mask, features, shape } = rollouts;
  const { rewards, solved } = judge(rollouts, rollouts.problems, backend);
  const options = { shape: [mask.length, VOCABULARY] as const, keep: mask, ...backend };
  const samplerLogProbs = logprob(rollouts.logits, tokens, options).logProbs;

  let logits = policy.logits(features);
  let current = logprob(logits, tokens, options);
  const batch: Judged = { ...rollouts, rewards, oldLogProbs: current.logProbs, entropies: current.entropies };
  const objective = method.objective(batch, backend);

  for (let inner = 0; inner < SETTINGS.innerSteps; ++inner) {
    if (inner > 0) {
      logits = policy.logits(features);
      current = logprob(logits, tokens, options);
    }
    const gradients = objective(current.logProbs);
    policy.ascend(features, logprobBackward(logits, tokens, current, { ...options, ...gradients }));
  }

  const kept = mask.reduce((sum, flag) => sum + flag, 0);
  return {
    step,
    batch,
    samplerLogProbs,
    reward: mean(rewards, shape[0]),
    solved: mean(solved, shape[0]),
    entropy: mean(batch.entropies, kept), // 0 under the mask
  };
}

function mean(values: Iterable<number>, count: number): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / count;
}
