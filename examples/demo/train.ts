// One run: a cold start on the form of a response, then policy gradient on the rewards.
import {
  type Arena,
  type BackendOption,
  type CollectiveOption,
  createArena,
  logprob,
  logprobBackward,
} from "../../lib";
import { type Experience, ExperienceMaker, packRows, padRows, type RewardFunction } from "../../lib/experience";
import { type Method, METHODS, type MethodName } from "./methods";
import { Network } from "./network";
import { CLIP, judgedOf, type Where } from "./objective";
import { NetworkPolicy, promptOf } from "./policy";
import { Random } from "./random";
import { meanOfRanks, shareOf, sumOfRanks } from "./ranks";
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

export interface Run extends BackendOption, CollectiveOption {
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
  /** Mean over the policy's tokens, nats. The three means are over the rows of all ranks. */
  readonly entropy: number;
}

/**
 * Trains from scratch. Deterministic: a run on the same backend repeats to the last bit. With a `collective` every rank has its share
 * of the prompts of each step, and all have the same parameters: those of one rank, but for how the gradient's sum is cut.
 *
 * @returns the parameters
 */
export async function train(
  { method: name, seed, steps, collective, ...backend }: Run,
  onStep: (report: StepReport) => void,
): Promise<Float32Array> {
  const method = METHODS[name];
  const network = new Network(new Random(seed, 0), SETTINGS.learningRate);
  const where = { ...backend, ...(collective && { collective }) };
  coldStart(network, new Random(seed, 1), where);
  const policy = new NetworkPolicy(network, new Random(seed, 2), backend, collective);
  const { advantages } = method;
  const maker = new ExperienceMaker<Problem>({
    policy,
    rewards: rewardOf(backend),
    samplesPerPrompt: SETTINGS.groupSize,
    ...(advantages && { advantages: (experience) => advantages(experience, where) }),
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
function coldStart(network: Network, random: Random, { collective, ...backend }: Where): void {
  const rows = SETTINGS.groups * SETTINGS.groupSize;
  const digit = (): number => random.below(MODULUS);
  for (let step = 0; step < SETTINGS.coldStartSteps; ++step) {
    const problems = Array.from({ length: rows }, () => newProblem(random));
    const responses = problems.map(() => response(digit(), digit(), digit()));
    const [begin, end] = shareOf(rows, collective);
    const { features, tokens, mask } = batchOf(problems.slice(begin, end), responses.slice(begin, end));
    const own = mask.reduce((sum, kept) => sum + kept, 0);
    const weight = 1 / sumOfRanks(own, collective);
    const logits = network.logits(features);
    const options = { shape: [mask.length, VOCABULARY] as const, mask, ...backend };
    const gradLogProbs = new Float32Array(mask.length).fill(weight); // of the mean log-prob
    network.ascend(
      features,
      logprobBackward(logits, tokens, logprob(logits, tokens, options), { ...options, gradLogProbs }),
      collective,
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
  const { network, random, backend, collective } = policy;
  const prompts = Array.from({ length: SETTINGS.groups }, () => promptOf(newProblem(random)));
  const experience = await maker.make(prompts.slice(...shareOf(SETTINGS.groups, collective)));
  const where = { ...backend, ...(collective && { collective }) };
  const objective = method.objective(judgedOf(experience), where);

  const { batch, logits: first } = policy.seen!;
  const { features, tokens, mask } = batch;
  const options = { shape: [mask.length, VOCABULARY] as const, mask, arena, ...backend };
  for (let inner = 0; inner < SETTINGS.innerSteps; ++inner) {
    const logits = inner === 0 ? first : network.logits(features);
    const current = logprob(logits, tokens, options);
    const gradient = logprobBackward(logits, tokens, current, { ...options, ...objective(current.logProbs) });
    network.ascend(features, gradient, collective);
  }

  const { rewards, entropies } = experience;
  return {
    step,
    experience,
    reward: meanOfRanks(rewards, collective),
    solved: meanOfRanks(
      rewards.map((reward) => (reward > 0 ? 1 : 0)),
      collective,
    ),
    entropy: meanOfRanks(entropies!, collective),
  };
}
