// Training: sample, judge, advantages, two steps of the clipped loss, again. Everything between logits and their gradient is
// surprisal's.
import { type AdvantageName, computeAdvantages } from "../../advantage/compute";
import type { BackendOption } from "../../backend/select";
import { Arena, withArena } from "../../core/arena";
import type { FloatArray } from "../../core/dtype";
import { integersBelow } from "../../core/random";
import type { Rollout } from "../../io";
import { policyLoss } from "../../loss/policy";
import { logprob, logprobBackward } from "../../ops/logprob";
import { stateOf, TablePolicy } from "./policy";
import {
  ANSWER,
  ANSWER_END,
  MAX_TOKENS,
  PROBLEMS,
  resultsOf,
  rewardOf,
  STEP,
  STEP_END,
  TEXT,
  VOCABULARY,
} from "./task";

const RESPONSES = 8;
const INNER_STEPS = 2;
const RATE = 0.1;
const CLIP = 0.2;
const WORD = 2 ** 24;

/** What every record says about itself, so that surprisal advantages finds the steps without being told. */
const DELIMITERS = { start: [[STEP], [ANSWER]], end: [[STEP_END], [ANSWER_END]], think_end: STEP_END };

interface Sampled {
  readonly problem: number;
  readonly tokens: number[];
  readonly states: number[];
  readonly logProbs: number[];
}

/** Token by token from the rows of the table, in float64. */
function sample(policy: TablePolicy, problem: number, draw: () => number): Sampled {
  const tokens: number[] = [];
  const states: number[] = [];
  const logProbs: number[] = [];
  while (tokens.length < MAX_TOKENS && tokens.at(-1) !== ANSWER_END) {
    const state = stateOf(problem, tokens);
    const row = policy.logits.subarray(state * VOCABULARY, (state + 1) * VOCABULARY);
    const most = Math.max(...row);
    const weights = Array.from(row, (logit) => Math.exp(logit - most));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let left = ((draw() + 0.5) / WORD) * total;
    let token = 0;
    while (token < VOCABULARY - 1 && (left -= weights[token]!) > 0) ++token;
    tokens.push(token);
    states.push(state);
    logProbs.push(Math.log(weights[token]! / total));
  }
  return { problem, tokens, states, logProbs };
}

interface Batch {
  readonly sampled: readonly Sampled[];
  readonly rewards: Float64Array;
  readonly groups: readonly number[];
  readonly offsets: Int32Array;
  readonly tokens: Int32Array;
  readonly states: Int32Array;
  readonly oldLogProbs: Float32Array;
  readonly entropies: Float32Array;
}

function collect(policy: TablePolicy, draw: () => number, backend: BackendOption): Batch {
  const sampled = PROBLEMS.flatMap((_, problem) =>
    Array.from({ length: RESPONSES }, () => sample(policy, problem, draw)),
  );
  const offsets = new Int32Array(sampled.length + 1);
  sampled.forEach(({ tokens }, row) => (offsets[row + 1] = offsets[row]! + tokens.length));
  const tokens = Int32Array.from(sampled.flatMap((one) => one.tokens));
  const states = Int32Array.from(sampled.flatMap((one) => one.states));
  // The whole batch looked at again: what a trainer does with the rollouts of an inference server.
  const { logProbs, entropies } = logprob(policy.rowsOf(states), tokens, {
    shape: [tokens.length, VOCABULARY],
    ...backend,
  });
  const rewards = Float64Array.from(sampled, ({ problem, tokens: own }) => rewardOf(PROBLEMS[problem]!, own));
  return {
    sampled,
    rewards,
    groups: sampled.map(({ problem }) => problem),
    offsets,
    tokens,
    states,
    oldLogProbs: logProbs,
    entropies,
  };
}

type Estimate = (batch: Batch, backend: BackendOption) => { readonly advantages: FloatArray };

const grpo = ({ rewards, groups, offsets }: Batch, backend: BackendOption) =>
  computeAdvantages("grpo", { rewards, groups, offsets }, backend);

/** The estimators that the demo compares. */
const ESTIMATES = {
  grpo,
  empg: (batch, backend) => {
    const { offsets, tokens, entropies } = batch;
    const { rowAdvantages } = grpo(batch, backend);
    const { start, end } = DELIMITERS;
    return computeAdvantages(
      "empg",
      { offsets, tokens, entropies, rowAdvantages },
      { start, end, scope: "all", ...backend },
    );
  },
  egpo: ({ rewards, groups, offsets, tokens, entropies }, backend) =>
    computeAdvantages(
      "egpo",
      { rewards, groups, offsets, tokens, entropies },
      { thinkEnd: DELIMITERS.think_end, ...backend },
    ),
  // Between the rewards and the policy that sampled.
  maxent: ({ rewards, groups, offsets, oldLogProbs: referenceLogProbs }, backend) =>
    computeAdvantages(
      "maxent",
      { rewards, groups, offsets, referenceLogProbs },
      { tau: 0.5, beta: 0.5, distribution: { temperature: 0.25 }, ...backend },
    ),
} satisfies Partial<Record<AdvantageName, Estimate>>;
export type Method = keyof typeof ESTIMATES;
export const METHODS = Object.keys(ESTIMATES) as readonly Method[];

function update(
  policy: TablePolicy,
  { states, tokens, offsets, oldLogProbs }: Batch,
  advantages: FloatArray,
  backend: BackendOption,
): void {
  for (let inner = 0; inner < INNER_STEPS; ++inner) {
    const logits = policy.rowsOf(states);
    const shape = [tokens.length, VOCABULARY] as const;
    const state = logprob(logits, tokens, { shape, ...backend });
    const { gradLogProbs } = policyLoss(
      "ppo",
      { logProbs: state.logProbs, oldLogProbs, advantages, advantagesPer: "token", offsets },
      { clip: CLIP, ...backend },
    );
    policy.descend(
      states,
      logprobBackward<Float32Array>(logits, tokens, state, { shape, gradLogProbs, ...backend }),
      RATE,
    );
  }
}

function recordsOf(
  { sampled, rewards, offsets, oldLogProbs, entropies }: Batch,
  method: Method,
  seed: number,
  step: number,
): Rollout[] {
  return sampled.map(({ problem, tokens, logProbs }, row) => {
    const { a, b } = PROBLEMS[problem]!;
    const own = (values: Float32Array): Float64Array =>
      Float64Array.from(values.subarray(offsets[row], offsets[row + 1]));
    return {
      group: `${a} ${b}`,
      step,
      prompt: `${a} ${b}`,
      promptIds: Int32Array.of(a, b),
      tokenIds: Int32Array.from(tokens),
      tokens: tokens.map((token) => TEXT[token]!),
      samplerLogProbs: Float64Array.from(logProbs),
      oldLogProbs: own(oldLogProbs),
      entropies: own(entropies),
      reward: rewards[row]!,
      finishReason: tokens.at(-1) === ANSWER_END ? "stop" : "length",
      meta: { method, seed, results: resultsOf(PROBLEMS[problem]!), delimiters: DELIMITERS },
    };
  });
}

const mean = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;

export interface StepFigures {
  readonly step: number;
  readonly reward: number;
  /** Mean over the tokens, nats. */
  readonly entropy: number;
  /** The rollouts of the step, before its update. */
  readonly records: () => Rollout[];
}

/** One run; a step at a time, so that somebody can watch and stop. */
export function* train(method: Method, seed: number, steps: number, backend: BackendOption): Generator<StepFigures> {
  const policy = new TablePolicy();
  const draw = integersBelow(WORD, seed);
  const arena = new Arena(0);
  try {
    for (let step = 0; step < steps; ++step) {
      const batch = collect(policy, draw, backend);
      yield {
        step,
        reward: mean(batch.rewards),
        entropy: mean(batch.entropies),
        records: () => recordsOf(batch, method, seed, step),
      };
      withArena(arena, () => update(policy, batch, ESTIMATES[method](batch, backend).advantages, backend));
      arena.reset();
    }
  } finally {
    arena.dispose(); // "using" would need helpers in dist/ that nobody installs
  }
}
