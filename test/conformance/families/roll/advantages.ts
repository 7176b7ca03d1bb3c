// ROLL: advantages, weights, masks and metrics.
import {
  affine,
  clamp,
  clipFraction,
  countKept,
  discountedReturns,
  gae,
  groupBroadcast,
  groupFilter,
  groupPlace,
  grpoAdvantage,
  klEstimates,
  moments,
  normalizeLevels,
  segments,
  turnReturnsAdvantage,
  whiten,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Mapping } from "../../mapping";
import { blocks } from "../arrange";

const family = "roll";

const wide = (inputs: Inputs, name: string): Float64Array => Float64Array.from(inputs.floats(name));
const level = (inputs: Inputs, name: string) => (inputs.has(name) ? inputs.oneOf(name, ["batch", "group"]) : "none");

export const rollAdvantages: readonly Mapping[] = [
  {
    family,
    function: "agentic_compute_advantage",
    ours: ["turnReturnsAdvantage", "discountedReturns", "gae", "klEstimates", "groupPlace", "whiten", "clamp"],
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("response_mask");
      const mask = inputs.uint8("response_mask");
      const rows = { shape, mask, backend } as const;
      const whitened = (values: FloatArray) =>
        moments(values, rows).counts[0]! > 1
          ? whiten(values, { ...rows, varianceEpsilon: 1e-8 })
          : affine(values, rows);
      const given = affine(wide(inputs, "token_level_rewards"), rows);
      const rewards = inputs.boolean("whiten_rewards") ? whitened(given) : given;
      const gamma = inputs.number("gamma");
      const estimate = () => {
        switch (inputs.string("adv_estimator")) {
          case "gae":
            return gae(rewards, wide(inputs, "values"), { shape, gamma, lambda: inputs.number("lambd"), backend });
          case "agentic_reinforce":
            return turnReturnsAdvantage({ tokenRewards: rewards, shape, mask }, { gamma, reward: "last", backend });
          default: {
            const returns = discountedReturns(rewards, { shape, gamma, backend });
            return { advantages: returns, returns };
          }
        }
      };
      const { advantages, returns } = estimate();
      let result: FloatArray = affine(advantages, rows);
      if (inputs.has("pure_opd")) {
        if (inputs.boolean("pure_opd")) result = new Float64Array(result.length);
        const routed = inputs.uint8("teacher_b_rows");
        for (const teacher of ["a", "b"] as const) {
          const chosen = mask.map((kept, i) => (teacher === "b" && routed[Math.floor(i / shape[1])] === 0 ? 0 : kept));
          const kl = klEstimates(wide(inputs, "infer_log_probs"), wide(inputs, `teacher_${teacher}`), {
            ...rows,
            mask: chosen,
            kind: "k1",
          }).values;
          result = groupPlace({ tokens: result, values: kl }, { ...rows, scale: -inputs.number(`coef_${teacher}`) });
        }
      }
      if (inputs.boolean("whiten_advantages")) result = whitened(result);
      if (inputs.has("advantage_clip")) {
        const high = inputs.number("advantage_clip");
        result = clamp(result, { ...rows, low: -high, high }).clamped;
      }
      return { advantages: result, returns: inputs.has("pure_opd") && inputs.boolean("pure_opd") ? result : returns };
    },
  },
  {
    family,
    function: "agentic_reward_norm",
    ours: "normalizeLevels",
    options: "zeroSmall",
    run: (inputs, { backend }) => ({
      rewards: normalizeLevels(wide(inputs, "scores"), {
        groups: inputs.string("grouping") === "group" ? inputs.int32("index") : "all",
        center: level(inputs, "norm_mean_type"),
        scale: level(inputs, "norm_std_type"),
        zeroSmall: true,
        backend,
      }),
    }),
  },
  {
    family,
    function: "compute_segment_masked_mean",
    ours: ["segments", "moments", "groupBroadcast"],
    differs: "1e-8 added to the number of tokens",
    run: (inputs, { backend }) => {
      const { offsets, mask } = segments({ shape: inputs.shape2("mask"), mask: inputs.uint8("mask") });
      const { means } = moments(wide(inputs, "tensor"), { offsets, mask, over: "row", backend });
      return { segment_mean: groupBroadcast(means, { offsets, mask, backend }) };
    },
  },
  {
    family,
    function: "gigpo_response_level_rewards",
    ours: ["discountedReturns", "grpoAdvantage", "groupPlace", "clamp"],
    options: "groups: trajectory groups, and states within them",
    replacedBy: "states are grouped within their trajectory group",
    run: (inputs, { backend }) => {
      const [trajectory, step] = [inputs.int32("trajectory"), inputs.int32("step")];
      const B = trajectory.length;
      // The steps of a trajectory one behind the other make a row.
      const order = Int32Array.from(trajectory.keys()).sort(
        (a, b) => trajectory[a]! - trajectory[b]! || step[a]! - step[b]!,
      );
      const begins = Array.from(order.keys()).filter(
        (k) => k === 0 || trajectory[order[k]!] !== trajectory[order[k - 1]!],
      );
      const scores = wide(inputs, "step_scores");
      const returns = discountedReturns(
        Float64Array.from(order, (b) => scores[b]!),
        { offsets: Int32Array.from([...begins, B]), gamma: inputs.number("gamma"), backend },
      );
      const stepReturns = new Float64Array(B);
      order.forEach((b, k) => (stepReturns[b] = returns[k]!));

      const scale = inputs.string("method") === "mean" ? ("none" as const) : ("std" as const);
      const compare = (rewards: FloatArray, groups: readonly string[]) =>
        grpoAdvantage({ rewards, groups }, { scale, epsilon: 1e-6, backend }).rowAdvantages;
      const [group, state] = [inputs.int32("trajectory_group"), inputs.int32("state")];
      const episodes = compare(wide(inputs, "episode_scores"), Array.from(group, String));
      const steps = compare(
        stepReturns,
        Array.from(group, (g, b) => `${g}/${state[b]!}`),
      );
      const rows = { shape: [B, 1] as const, backend };
      const part = (tokens: FloatArray | undefined, values: FloatArray, weight: string) =>
        groupPlace(tokens ? { tokens, values } : { values }, { ...rows, scale: inputs.number(weight) });
      const sum = part(part(undefined, episodes, "episode_reward_weight"), steps, "step_reward_weight");
      const limit = inputs.has("reward_clip") ? inputs.number("reward_clip") : Infinity;
      return {
        step_returns: stepReturns,
        episode_rewards: episodes,
        step_rewards: steps,
        response_level_rewards: clamp(sum, { ...rows, low: -limit, high: limit }).clamped,
        metrics: inputs.has("reward_clip")
          ? { "critic/reward_clip_frac": clipFraction(sum, { low: -limit, high: limit, backend }) }
          : {},
      };
    },
  },
  {
    family,
    function: "reward_norm",
    ours: "normalizeLevels",
    replacedBy: "each row is divided by the std of its own group",
    run: (inputs, { backend }) => {
      const rewards = wide(inputs, "rewards");
      return {
        rewards: normalizeLevels(rewards, {
          groups: blocks(rewards.length, inputs.number("n_sample")),
          center: level(inputs, "norm_mean_type"),
          scale: level(inputs, "norm_std_type"),
          backend,
        }),
      };
    },
  },
  {
    family,
    function: "get_sample_level_mask",
    ours: ["groupFilter", "groupBroadcast", "moments"],
    options: "meanInside of groups; range of lengths, each row a group",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("response_mask");
      const [B, T] = shape;
      const mask = inputs.uint8("response_mask");
      const scores = inputs.floats("scores");
      const lengths = Float64Array.from(countKept({ shape, mask, backend }));
      const alone = Int32Array.from({ length: B }, (_, b) => b);
      const all = new Uint8Array(B).fill(1);
      const rules = {
        max_len: inputs.boolean("max_len_mask")
          ? groupFilter(lengths, { groups: alone, range: [T, Infinity] }).keptRows
          : all,
        difficulty: inputs.boolean("difficulty_mask")
          ? groupFilter(scores, {
              groups: blocks(B, inputs.number("n_sample")),
              meanInside: [inputs.number("difficulty_low_threshold"), inputs.number("difficulty_high_threshold")],
            }).keptRows
          : all,
        error_len: inputs.boolean("error_max_len_clip")
          ? groupFilter(lengths, {
              groups: alone,
              live: Uint8Array.from(scores, (score) => (score === 0 ? 1 : 0)),
              range: [inputs.number("error_max_len_threshold"), Infinity],
            }).keptRows
          : all,
      };
      const final = all.map((_, b) => (Object.values(rules).every((kept) => kept[b] === 1) ? 1 : 0));
      const figures = moments(Float64Array.from(final), { shape: [B, 1], backend });
      const share = (kept: Uint8Array) => moments(Float64Array.from(kept), { shape: [B, 1], backend }).means[0]!;
      return {
        final_response_mask: Uint8Array.from(groupBroadcast(Float64Array.from(final), { shape, mask, backend })),
        metrics: {
          "actor/max_len_mask_ratio": share(rules.max_len),
          "actor/difficulty_mask_ratio": share(rules.difficulty),
          "actor/error_len_mask_ratio": share(rules.error_len),
          "actor/final_mask_ratio": figures.means[0]!,
          "actor/samples_used": figures.sums[0]!,
          "actor/samples_total": B,
        },
      };
    },
  },
];
