// prime-rl: advantages, weights, masks and metrics.
import { computeAdvantages, groupFilter, grpoAdvantage, lengthSharePenalty } from "surprisal";
import type { GoldenRecord } from "../../golden";
import type { Mapping } from "../../mapping";

const family = "prime-rl";

export const primeRlAdvantages: readonly Mapping[] = [
  {
    family,
    function: "adv_range_gate",
    ours: "groupFilter",
    options: "range",
    backendFree: true,
    run: (inputs) => {
      const { keptGroups } = groupFilter(inputs.floats("advantages"), {
        groups: "all",
        range: [inputs.number("reject_min"), inputs.number("reject_max")],
      });
      return { admit: keptGroups.every((kept) => kept === 1) };
    },
  },
  {
    family,
    function: "grpo_length_penalty",
    ours: ["lengthSharePenalty", "grpoAdvantage"],
    options: 'scale "none"',
    run: (inputs, { backend }) => {
      const penalty = inputs.has("length_penalty") ? (inputs.value("length_penalty") as GoldenRecord) : {};
      const share = (name: string) => ({
        counts: inputs.int32(name),
        weight: (penalty[`${name}_weight`] as number | undefined) ?? 0,
      });
      const rewards = lengthSharePenalty(Float64Array.from(inputs.floats("rewards")), {
        groups: "all",
        lengths: ["num_output_tokens", "num_input_tokens", "num_turns"].map(share),
      });
      return { advantages: grpoAdvantage({ rewards, groups: "all" }, { scale: "none", backend }).rowAdvantages };
    },
  },
  {
    family,
    function: "hierarchical_grpo",
    ours: "grpoAdvantage",
    options: 'scale "none", a label per agent, or per agent and episode',
    run: (inputs, { backend }) => {
      const within = new Set(inputs.int32("episode_agents"));
      const episode = inputs.int32("episode");
      const groups = Array.from(inputs.int32("agent"), (agent, b) =>
        within.has(agent) ? `${agent} in ${episode[b]!}` : `${agent}`,
      );
      const { rowAdvantages } = grpoAdvantage(
        { rewards: inputs.floats("rewards"), groups },
        { scale: "none", backend },
      );
      return { advantages: rowAdvantages };
    },
  },
  {
    family,
    function: "max_rl",
    ours: "computeAdvantages",
    options: '"maxRl"',
    run: (inputs, { backend }) => ({
      advantages: computeAdvantages("maxRl", { rewards: inputs.floats("rewards"), groups: "all" }, { backend })
        .rowAdvantages,
    }),
  },
  {
    family,
    function: "role_advantage",
    ours: ["computeAdvantages", "updateRoleBaselines"],
    options: '"rae"',
    run: (inputs, { backend }) => {
      const given = inputs.floats("baselines");
      const before = { baselines: Object.fromEntries(Array.from(given, (x, role) => [String(role), x])) };
      const { rowAdvantages, state } = computeAdvantages(
        "rae",
        { rewards: inputs.floats("rewards"), roles: inputs.int32("agent"), state: before },
        { decay: inputs.number("decay"), backend },
      );
      return { advantages: rowAdvantages, baselines: Array.from(given, (_, role) => state.baselines[String(role)]) };
    },
  },
];
