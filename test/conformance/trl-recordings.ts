// Steps of TRL itself under preset "trl", from logits to their gradient, and the rewards behind them: test/recordings/README.md.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  highEntropyMask,
  logprob,
  logprobBackward,
  multiRewardAdvantage,
  policyLoss,
  type PolicyBatch,
  type PolicyLossName,
  type PolicyLossResult,
  rlooWithKlAdvantage,
} from "surprisal";
import type { BackendName } from "../support/each-backend";
import type { Difference } from "./compare";
import { count, type CaseResult, type FunctionReport } from "./run";

const FAMILY = "trl-recordings";
const FOLDER = join(__dirname, "..", "recordings", "trl");

/** Why the recordings cannot be run: an archive of the suite leaves their megabytes out. */
export const noRecordings = existsSync(FOLDER) ? undefined : "test/recordings/trl is not here";

interface Step {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly shape: readonly [rows: number, tokens: number, vocab: number];
  readonly floats: (name: string) => Float32Array;
  readonly ints: (name: string) => Int32Array;
  readonly has: (name: string) => boolean;
}

function readStep(name: string): Step {
  const bytes = readFileSync(join(FOLDER, `${name}.safetensors`));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Record<
    string,
    { readonly shape: readonly number[]; readonly data_offsets: readonly [number, number] }
  >;
  const meta = header["__metadata__"] as unknown as Record<string, string>;
  const at = (tensor: string): ArrayBuffer => {
    const [begin, end] = header[tensor]!.data_offsets;
    return new Uint8Array(bytes.subarray(8 + length + begin, 8 + length + end)).buffer;
  };
  return {
    meta: Object.fromEntries(Object.entries(meta).map(([key, text]) => [key, JSON.parse(text) as unknown])),
    shape: (header["logits"] ?? header["completion_ids"]!).shape as unknown as readonly [number, number, number],
    floats: (tensor) => new Float32Array(at(tensor)),
    ints: (tensor) => Int32Array.from(new BigInt64Array(at(tensor)), Number),
    has: (tensor) => tensor in header,
  };
}

const STEPS: Readonly<Record<string, readonly [loss: PolicyLossName, options: object]>> = {
  "bnpo.step01": ["ppo", { clip: 0.2, aggregation: "trl/bnpo" }],
  "dapo.step01": ["ppo", { clipLow: 0.2, clipHigh: 0.28 }],
  "cispo.step01": ["cispo", { clipHigh: 0.05 }], // epsilon_high 1.05 is the bound itself
  "gspo.step01": ["gspo", { clipLow: 0.002, clipHigh: 0.003, aggregation: "trl/grpo" }],
  "luspo_seq.step01": ["luspo", { clipLow: 0.002, clipHigh: 0.003 }],
  "sapo.step01": ["sapo", {}],
  "vespo.step01": ["vespo", {}],
  "rloo.step01": ["rloo", { clip: 0.2 }],
  "dapo_accum.step03": ["ppo", { clipLow: 0.2, clipHigh: 0.28 }],
  "entcoef_dapo_accum.step03": ["ppo", { clip: 0.2 }],
};

const NAMES = Object.keys(STEPS);

/** The largest distance over the kept elements; a NaN counts as the largest there is. */
function furthest(got: ArrayLike<number>, want: ArrayLike<number>, kept: (i: number) => boolean = () => true): number {
  let most = 0;
  for (let i = 0; i < want.length; ++i) {
    const distance = Math.abs(got[i]! - want[i]!);
    if (kept(i) && !(distance <= most)) most = Number.isNaN(distance) ? Infinity : distance;
  }
  return most;
}

class Check {
  readonly differences: Difference[] = [];
  below(path: string, distance: number, bound: number): void {
    if (!(distance < bound))
      this.differences.push({ path, message: `off by ${distance}, expected less than ${bound}` });
  }
}

/** One optimisation step, from its logits to their gradient. */
function runStep(name: string, backend: BackendName): readonly Difference[] {
  const check = new Check();
  const [loss, options] = STEPS[name]!;
  const step = readStep(name);
  const [rows, tokens, vocab] = step.shape;
  const mask = Uint8Array.from(step.ints("completion_mask"));
  const targets = step.ints("completion_ids");
  const logits = step.floats("logits");
  const map = {
    shape: [rows * tokens, vocab] as const,
    temperature: step.meta["temperature"] as number,
    mask,
    backend,
  };
  const state = logprob(logits, targets, map);
  const kept = (i: number): boolean => mask[i] !== 0;
  check.below("logps", furthest(state.logProbs, step.floats("logps"), kept), 2e-6);
  check.below("entropies", furthest(state.entropies, step.floats("entropies"), kept), 2e-6);

  // The tokens of highest entropy, which the policy term and the bonus are over.
  const [quantile, coefficient] = [step.meta["quantile"] as number, step.meta["entropy_coef"] as number];
  const chosen =
    quantile < 1
      ? highEntropyMask(state.entropies, { preset: "trl", shape: [rows, tokens], mask, share: quantile, backend })
      : undefined;
  const beta = step.meta["beta"] as number;
  const referred = step.has("ref_per_token_logps") && beta !== 0;
  const batch: PolicyBatch = {
    shape: [rows, tokens],
    mask,
    logProbs: state.logProbs,
    entropies: state.entropies,
    advantages: step.floats("advantages"),
    ...(chosen && { termMask: chosen }),
    ...(step.has("old_per_token_logps") && { oldLogProbs: step.floats("old_per_token_logps") }),
    ...(step.has("old_logps") && { oldSequenceLogProbs: step.floats("old_logps") }),
    ...(referred && { referenceLogProbs: step.floats("ref_per_token_logps") }),
  };
  const counts = {
    accumulation: step.meta["accum"] as number,
    stepsPerGeneration: step.meta["spg"] as number,
    ...(step.has("num_items_in_batch") && { tokens: step.ints("num_items_in_batch")[0]! }),
  };
  const evaluate = policyLoss as unknown as (name: string, batch: PolicyBatch, options: object) => PolicyLossResult;
  const bonus = coefficient !== 0 && { entropyBonus: { coefficient, mask: chosen } };
  const all = {
    preset: "trl",
    ...bonus,
    ...(referred && { kl: { coefficient: beta } }),
    ...counts,
    ...options,
    backend,
  };
  const result = evaluate(loss, batch, all);
  check.below("loss", furthest([result.loss], step.floats("loss")), 2e-6 * Math.max(Math.abs(result.loss), 1e-2));

  const { gradLogProbs, gradEntropies } = result;
  const gradient = logprobBackward(logits, targets, state, { ...map, gradLogProbs, gradEntropies });
  const wanted = step.floats("grad_logits");
  const largest = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  check.below("grad_logits", furthest(gradient, wanted), (loss === "rloo" ? 2e-5 : 1e-5) * largest);

  const metrics = step.meta["metrics"] as Record<string, number>;
  for (const [key, want] of Object.entries(metrics))
    check.below(`metrics.${key}`, furthest([result.metrics[key]!], [want]), 1e-5 * Math.max(1, Math.abs(want)));
  return check.differences;
}

/** The advantages of a generation, from its rewards. */
function runGeneration(config: string, backend: BackendName): readonly Difference[] {
  const check = new Check();
  const generation = readStep(config);
  const step = NAMES.find((name) => name.startsWith(`${config.split(".")[0]!}.`))!;
  const args = readStep(step).meta["args"] as { readonly scale_rewards?: string | boolean };
  const weights = generation.floats("reward_weights");
  const flat = generation.floats("rewards_per_func");
  const rewards = Array.from(weights, (_, f) => flat.filter((_, i) => i % weights.length === f));
  const groups = Int32Array.from(rewards[0]!, (_, b) => Math.floor(b / 4));
  const { rowAdvantages } = config.startsWith("rloo")
    ? rlooWithKlAdvantage({ rewards, groups }, { preset: "trl", weights, backend })
    : multiRewardAdvantage(
        { rewards, groups },
        { preset: "trl", weights, scale: args.scale_rewards as "group" | "batch" | "none", backend },
      );
  check.below("advantages", furthest(rowAdvantages, generation.floats("advantages")), 1e-5);
  return check.differences;
}

/** Both as conformance reports the cases of a recorded function. */
export function runRecordings(backend: BackendName): FunctionReport[] {
  const report = (
    name: string,
    ours: readonly string[],
    names: readonly string[],
    run: (name: string, backend: BackendName) => readonly Difference[],
  ): FunctionReport => {
    const cases = names.map((each): CaseResult => {
      const differences = run(each, backend);
      if (differences.length === 0) return { name: each, status: "passed", maskedNotCompared: 0 };
      return { name: each, status: "failed", maskedNotCompared: 0, differences };
    });
    const common = { options: 'preset "trl"', notCompared: undefined, backendFree: false };
    return { family: FAMILY, function: name, ours, ...common, totals: count(cases), cases };
  };
  const generations = NAMES.map((name) => `${name.split(".")[0]!}.gen00`);
  return [
    report("optimisation_step", ["logprob", "policyLoss", "logprobBackward"], NAMES, runStep),
    report("rewards_to_advantages", ["multiRewardAdvantage", "rlooWithKlAdvantage"], generations, runGeneration),
  ];
}
