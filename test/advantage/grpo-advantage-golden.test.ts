// grpoAdvantage against numbers that the trainers themselves printed, under the preset of each.
import * as path from "node:path";

import { grpoAdvantage, type GrpoAdvantageOptions } from "../../lib";
import { groupNormalize } from "../../lib/ops/group";
import { readGoldenFile, type GoldenCase } from "../conformance/golden";
import { Inputs } from "../conformance/inputs";
import { eachBackend, type BackendName } from "../support/each-backend";

const GOLDEN = path.join(__dirname, "..", "golden");

/** What a source computes for one case, by golden output name; undefined = not what grpoAdvantage is for. */
type Run = (inputs: Inputs, backend: BackendName) => Readonly<Record<string, ArrayLike<number>>> | undefined;

/** Blocks of `size` rows. */
function blocks(rows: number, size: number): Int32Array {
  return Int32Array.from({ length: rows / size + 1 }, (_, g) => g * size);
}

/** Token rewards, mask and prompt ids as verl passes them. Values under the mask are 0 here whatever the row has. */
function verl(options: (inputs: Inputs) => GrpoAdvantageOptions): Run {
  return (inputs, backend) => {
    const batch = {
      tokenRewards: inputs.floats("token_level_rewards"),
      shape: inputs.shape2("token_level_rewards"),
      mask: inputs.uint8("response_mask"),
      groups: inputs.int32("index"),
    };
    const { advantages, returns } = grpoAdvantage(batch, { backend, ...options(inputs) });
    return { advantages, returns };
  };
}

const scaled = (inputs: Inputs, name: string) => (inputs.boolean(name) ? "std" : "none");
const RLOO = { center: "leaveOneOut", scale: "none" } as const;

/** Rewards of several functions, weighted and added; a function that abstains is left out, a row of abstentions is NaN. */
function weightedSum(inputs: Inputs): Float64Array {
  const [rows, functions] = inputs.shape2("rewards_per_func");
  const rewards = inputs.floats("rewards_per_func");
  const weights = inputs.floats("reward_weights");
  return Float64Array.from({ length: rows }, (_, i) => {
    const scored = Array.from(weights, (weight, f) => weight * rewards[i * functions + f]!).filter(
      (x) => !Number.isNaN(x),
    );
    return scored.length === 0 ? NaN : scored.reduce((sum, x) => sum + x, 0);
  });
}

const SOURCES: Readonly<Record<string, Run>> = {
  "egpo/group_normalized_outcome_advantage": verl((inputs) => ({
    preset: "egpo",
    epsilon: inputs.number("epsilon"),
    scale: scaled(inputs, "normalize_by_std"),
  })),
  "verl/compute_grpo_outcome_advantage": verl((inputs) => ({
    preset: "verl",
    epsilon: inputs.number("epsilon"),
    scale: scaled(inputs, "norm_adv_by_std_in_grpo"),
  })),
  "verl/compute_grpo_vectorized_outcome_advantage": verl((inputs) => ({
    preset: "verl",
    epsilon: inputs.number("epsilon"),
    varianceFloor: inputs.number("epsilon"),
    scale: scaled(inputs, "norm_adv_by_std_in_grpo"),
  })),
  "verl/compute_rloo_outcome_advantage": verl(() => ({ preset: "verl", ...RLOO })),
  "verl/compute_rloo_vectorized_outcome_advantage": verl(() => ({ preset: "verl", ...RLOO, singleton: "zero" })),
  "gspo/standardize_rewards": (inputs, backend) => {
    const { advantages, means, stds } = grpoAdvantage(
      { rewards: inputs.floats("rewards"), groups: "all" },
      { preset: "gspo", backend },
    );
    return { advantages, mean: means, std: stds };
  },
  "trl/grpo_advantages": (inputs, backend) => {
    const scale = inputs.string("scale_rewards");
    if (inputs.string("multi_objective_aggregation") !== "sum_then_normalize" || scale === "batch") return undefined;
    const rewards = weightedSum(inputs);
    const groupOffsets = blocks(rewards.length, inputs.number("num_generations"));
    const { advantages } = grpoAdvantage(
      { rewards, groupOffsets },
      { preset: "trl", scale: scale === "group" ? "std" : "none", backend },
    );
    return { advantages, rewards };
  },
  "lightrft/group_reward_shaping": (inputs, backend) => {
    const estimators = ["rloo", "group_norm", "grpo", "reinforce_baseline", "cpgd", "gae", "reinforce"] as const;
    const estimator = inputs.oneOf("estimator", estimators);
    if (estimator === "cpgd" || estimator === "gae" || estimator === "reinforce") return undefined;
    const rewards = inputs.floats("rewards");
    const shaping = { rloo: RLOO, group_norm: {}, grpo: {}, reinforce_baseline: { scale: "none" } as const }[estimator];
    const groupOffsets = blocks(rewards.length, inputs.number("samples_per_prompt"));
    return {
      rewards: grpoAdvantage({ rewards, groupOffsets }, { preset: "lightrft", ...shaping, backend }).advantages,
    };
  },
  "maxent/group_advantages": (inputs, backend) => {
    const utilities = inputs.floats("total_utils");
    const groupOffsets = Int32Array.from([0, ...inputs.numbers("group_sizes")]);
    for (let g = 1; g < groupOffsets.length; ++g) groupOffsets[g]! += groupOffsets[g - 1]!;
    const scale = scaled(inputs, "scale_rewards");
    return {
      advantages: grpoAdvantage({ rewards: utilities, groupOffsets }, { preset: "maxent", scale, backend }).advantages,
    };
  },
};

/** The case's array, or its one number. */
function numbers(golden: GoldenCase, name: string): ArrayLike<number> {
  const value = golden.outputs[name];
  return typeof value === "number" ? [value] : new Inputs(golden.outputs).floats(name);
}

eachBackend((backend) => {
  describe.each(Object.entries(SOURCES))("%s", (name, run) => {
    const cases = readGoldenFile(path.join(GOLDEN, `${name}.json`)).cases.filter((c) => !c.upstreamOnly);

    test("every case that the function covers", () => {
      let compared = 0;
      for (const golden of cases) {
        const inputs = new Inputs(golden.inputs);
        const got = run(inputs, backend);
        if (!got) continue;
        const mask = inputs.has("response_mask") ? inputs.uint8("response_mask") : undefined;
        for (const [output, values] of Object.entries(got)) {
          if (golden.outputs[output] === undefined) continue;
          const want = Float64Array.from(numbers(golden, output));
          // Sources multiply by the mask, and so have NaN · 0 there where a group is NaN.
          if (mask) want.forEach((x, i) => (want[i] = mask[i] ? x : 0));
          expect({ case: golden.name, length: values.length }).toEqual({ case: golden.name, length: want.length });
          expect(values).toBeAllClose(want, golden);
          ++compared;
        }
      }
      expect(compared).toBeGreaterThanOrEqual(10);
    });
  });

  test("the statistics of verl's groups", () => {
    for (const golden of readGoldenFile(path.join(GOLDEN, "verl", "group_mean_std.json")).cases) {
      const inputs = new Inputs(golden.inputs);
      const got = groupNormalize(inputs.floats("scores"), {
        groups: inputs.int32("gidx"),
        varianceFloor: inputs.number("eps"),
        singleton: "standard",
        backend,
      });
      const outputs = new Inputs(golden.outputs);
      // The source indexes by the id itself.
      inputs.int32("gidx").forEach((id, row) => {
        const g = got.groupIds[row]!;
        expect([got.means[g]!]).toBeAllClose([outputs.floats("mean")[id]!], golden);
        expect([got.stds[g]!]).toBeAllClose([outputs.floats("std")[id]!], golden);
      });
    }
  });
});
