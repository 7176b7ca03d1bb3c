// One run: a cold start on the form of a response, then policy gradient on the rewards.
import { type Arena, type BackendOption, createArena, logprob, logprobBackward } from "../../lib";
import { type Experience, ExperienceMaker, packRows, padRows, type RewardFunction } from "../../lib/experience";
import { type Method, METHODS, type MethodName } from "./methods";
import { Network } from "./network";
import { CLIP, judgedOf } from "./objective";
import { NetworkPolicy, promptOf } from "./policy";
import { Random } from "./random";
import { batchOf } from "./sampler";
import { judge, MAX_TOKENS, MODULUS, newProblem, type Problem, response, VOCABULARY } from "./task";

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
  readonly experience: Experience<Problem>;
  readonly reward: number;
  /** Share of right answers. */
  readonly solved: number;
  /** Mean over the policy's tokens, nats. */
  readonly entropy: number;
}

/** Trains from scratch. Deterministic: a run on the same backend repeats to the last bit. @returns the parameters */
export async function train(
  { method: name, seed, steps, ...backend }: Run,
  onStep: (report: StepReport) => void,
): Promise<Float32Array> {
  const method = METHODS[name];
  const network = new Network(new Random(seed, 0), SETTINGS.learningRate);
  coldStart(network, new Random(seed, 1), backend);
  const policy = new NetworkPolicy(network, new Random(seed, 2), backend);
  const { advantages } = method;
  const maker = new ExperienceMaker<Problem>({
    policy,
    rewards: rewardOf(backend),
    samplesPerPrompt: SETTINGS.groupSize,
    ...(advantages && { advantages: (experience) => advantages(experience, backend) }),
    ...backend,
  });
  const arena = createArena();
  for (let step = 0; step < steps; ++step) {
    onStep(await trainStep(policy, maker, method, step, arena));
    arena.reset();
  }
  return network.parameters;
}

function rewardOf(backend: BackendOption): RewardFunction<Problem> {
  return (rows) => {
    const { values, offsets } = packRows(rows.map(({ tokenIds }) => tokenIds));
    const { values: tokens, shape, lengths } = padRows(values, { offsets, width: MAX_TOKENS });
    return judge(
      { tokens, shape, lengths },
      rows.map(({ source }) => source.data!),
      backend,
    );
  };
}

/** Supervised steps on responses of the right form with random digits in them: they show the form, not the arithmetic. */
function coldStart(network: Network, random: Random, backend: BackendOption): void {
  const rows = SETTINGS.groups * SETTINGS.groupSize;
  const digit = (): number => random.below(MODULUS);
  for (let step = 0; step < SETTINGS.coldStartSteps; ++step) {
    const problems = Array.from({ length: rows }, () => newProblem(random));
    const { features, tokens, mask } = batchOf(
      problems,
      problems.map(() => response(digit(), digit(), digit())),
    );
    const weight = 1 / mask.reduce((sum, kept) => sum + kept, 0);
    const logits = network.logits(features);
    const options = { shape: [mask.length, VOCABULARY] as const, mask, ...backend };
    const gradLogProbs = new Float32Array(mask.length).fill(weight); // of the mean log-prob
    network.ascend(
      features,
      logprobBackward(logits, tokens, logprob(logits, tokens, options), { ...options, gradLogProbs }),
    );
  }
  network.restartOptimizer();
}

async function trainStep(
  policy: NetworkPolicy,
  maker: ExperienceMaker<Problem>,
  method: Method,
  step: number,
  arena: Arena,
): Promise<StepReport> {
  const { network, random, backend } = policy;
  const experience = await maker.make(Array.from({ length: SETTINGS.groups }, () => promptOf(newProblem(random))));
  const objective = method.objective(judgedOf(experience), backend);

  const { batch, logits: first } = policy.seen!;
  const { features, tokens, mask } = batch;
  const options = { shape: [mask.length, VOCABULARY] as const, mask, arena, ...backend };
  for (let inner = 0; inner < SETTINGS.innerSteps; ++inner) {
    const logits = inner === 0 ? first : network.logits(features);
    const current = logprob(logits, tokens, options);
    network.ascend(features, logprobBackward(logits, tokens, current, { ...options, ...objective(current.logProbs) }));
  }

  const { rewards, entropies } = experience;
  return {
    step,
    experience,
    reward: mean(rewards),
    solved: mean(rewards.map((reward) => (reward > 0 ? 1 : 0))),
    entropy: mean(entropies!),
  };
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[i]!;
  return sum / values.length;
}
