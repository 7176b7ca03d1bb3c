// AReaL: advantages, weights, masks and metrics.
import {
  affine,
  clamp,
  countKept,
  gae,
  groupPlace,
  klPenalty,
  lambdaOfLength,
  normalizeLevels,
  overlongPenalty,
  proximalLogProbs,
  segments,
  turnGaeAdvantage,
  whiten,
} from "surprisal";
import type { GoldenRecord } from "../../golden";
import { type FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";
import { leading } from "../arrange";

const family = "areal";

const wide = (inputs: Inputs, name: string): Float64Array => Float64Array.from(inputs.floats(name));
const lambdaOf = (inputs: Inputs): number | FloatArray =>
  typeof inputs.value("gae_lambda") === "number" ? inputs.number("gae_lambda") : inputs.floats("gae_lambda");

type Backend = Context["backend"];

/** What both forms of GAE read. */
interface Scanned {
  readonly shape: readonly [number, number];
  readonly rewards: FloatArray;
  readonly values: Float64Array;
  readonly mask: Uint8Array;
  /** 1 for the rows without an end token: the last column is what is expected behind them. */
  readonly open: Uint8Array;
  readonly gamma: number;
  readonly lambda: number | FloatArray;
}

const scanned = (inputs: Inputs): Scanned => ({
  shape: inputs.shape2("values"),
  rewards: wide(inputs, "rewards"),
  values: wide(inputs, "values"),
  mask: inputs.uint8("loss_mask"),
  open: inputs.uint8("seq_no_eos_mask"),
  gamma: inputs.number("discount"),
  lambda: lambdaOf(inputs),
});

function behind({ shape: [B, T], values, open }: Scanned): Float64Array {
  return Float64Array.from({ length: B }, (_, b) => (open[b] !== 0 ? values[b * T + T - 1]! : 0));
}

/** The columns but the last one. */
function shortened<A extends FloatArray | Uint8Array | Int32Array>(matrix: A, T: number): A {
  return matrix.filter((_: number, i: number) => i % T < T - 1) as A;
}

/** A last column again, of the given numbers. */
function completed(matrix: FloatArray, T: number, last: (row: number) => number): Float64Array {
  const rows = matrix.length / (T - 1);
  return Float64Array.from({ length: rows * T }, (_, i) => {
    const [b, t] = [Math.floor(i / T), i % T];
    return t < T - 1 ? matrix[b * (T - 1) + t]! : last(b);
  });
}

function tokenGae(of: Scanned, backend: Backend) {
  const { shape, rewards, values, mask, gamma, lambda } = of;
  const [B, T] = shape;
  const { advantages, returns } = gae(shortened(rewards, T), shortened(values, T), {
    shape: [B, T - 1],
    mask: shortened(mask, T),
    transformMasked: true,
    gamma,
    lambda,
    bootstrap: behind(of),
    backend,
  });
  return {
    advantages: completed(advantages, T, () => 0),
    returns: completed(returns, T, (b) => values[b * T + T - 1]!),
  };
}

function turnGae(of: Scanned, turns: Int32Array, backend: Backend) {
  const { shape, rewards, values, mask, gamma, lambda } = of;
  const batch = { tokenRewards: rewards, values, mask, turns, shape, bootstrap: behind(of) };
  const { advantages, returns } = turnGaeAdvantage(batch, { gamma, lambda, transformMasked: true, backend });
  return { advantages, returns };
}

/** Normalization's options, of its own case or of a record of the whole pipeline. */
function levelsOf(rule: Inputs, sizes: Int32Array, backend: Backend) {
  const level = (name: string) => (rule.has(name) ? rule.oneOf(name, ["batch", "group"]) : "none");
  return {
    groupOffsets: Int32Array.from([0, ...sizes.map((_, g) => sizes.slice(0, g + 1).reduce((a, b) => a + b, 0))]),
    center: level("mean_level"),
    leaveOneOut: rule.boolean("mean_leave1out"),
    scale: level("std_level"),
    about: "center",
    ddof: rule.boolean("std_unbiased") ? 1 : 0,
    epsilon: rule.number("eps"),
    backend,
  } as const;
}

/** Rows one token to the left: what stands at a token is of the one that it predicts. */
function rolled<A extends FloatArray | Uint8Array | Int32Array>(matrix: A, T: number): A {
  return matrix.map((_: number, i: number) => matrix[i % T < T - 1 ? i + 1 : i + 1 - T]!) as A;
}

export const arealAdvantages: readonly Mapping[] = [
  {
    family,
    function: "Normalization",
    ours: "normalizeLevels",
    options: 'about "center", epsilon 1e-5',
    run: (inputs, { backend }) => {
      const shape = inputs.shape("x");
      const given = shape.length === 2 ? inputs.shape2("x") : ([shape[0]!, 1] as const);
      return {
        normalized: normalizeLevels(wide(inputs, "x"), {
          ...(shape.length === 2 && { shape: given }),
          ...(inputs.has("loss_mask") && { mask: inputs.uint8("loss_mask"), shape: given }),
          ...levelsOf(inputs, inputs.int32("group_sizes"), backend),
        }),
      };
    },
  },
  {
    family,
    function: "compute_prox_logp_approximations",
    ours: "proximalLogProbs",
    backendFree: true,
    run: (inputs) => {
      const approximate = (method: "logLinear" | "linear") =>
        proximalLogProbs(wide(inputs, "logprobs"), wide(inputs, "old_logp"), {
          versions: inputs.int32("versions"),
          currentVersion: inputs.number("current_version"),
          method,
        });
      return { loglinear: approximate("logLinear"), linear: approximate("linear"), rollout: inputs.floats("old_logp") };
    },
  },
  {
    family,
    function: "compute_token_level_gae",
    ours: "gae",
    options: "bootstrap, transformMasked; λ a number or one per row",
    differs: "the last column is the state behind the row: advantage 0, return its value",
    run: (inputs, { backend }) => tokenGae(scanned(inputs), backend),
  },
  {
    family,
    function: "compute_turn_level_gae",
    ours: "turnGaeAdvantage",
    options: "turns, bootstrap; λ a number or one per row",
    failures: { RuntimeError: ["ERR_SURPRISAL_VALUE"] },
    run: (inputs, { backend }) => turnGae(scanned(inputs), inputs.int32("turn_ids"), backend),
  },
  {
    family,
    function: "compute_advantages",
    ours: ["gae", "turnGaeAdvantage", "normalizeLevels", "klPenalty", "groupPlace", "clamp"],
    options: 'klPenalty preset "areal"; normalizeLevels as Normalization',
    differs: "masks and log-probs belong to the token that they predict; here to that token itself",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("loss_mask");
      const [B, T] = shape;
      const each = { shape: [B, 1] as const, backend };
      const rule = (name: string) => new Inputs(inputs.value(name) as GoldenRecord);
      const sizes = inputs.int32("group_sizes");

      const scaled = affine(wide(inputs, "rewards"), {
        ...each,
        center: -inputs.number("reward_bias"),
        scale: inputs.number("reward_scaling"),
      });
      const limit = inputs.number("reward_clip");
      const clipped = clamp(scaled, { ...each, low: -limit, high: limit }).clamped;
      const normalized = inputs.has("reward_norm")
        ? normalizeLevels(clipped, levelsOf(rule("reward_norm"), sizes, backend))
        : clipped;
      const lengths = countKept({ shape, mask: inputs.uint8("attention_mask"), backend });
      const open = Uint8Array.from(lengths, (length) => (length === T ? 1 : 0));
      const zeroed = inputs.boolean("mask_no_eos_with_zero") ? open : new Uint8Array(B);
      const scores = affine(normalized, { ...each, mask: zeroed.map((flag) => 1 - flag) });

      const mask = rolled(inputs.uint8("loss_mask"), T);
      const before = leading(
        Int32Array.from(lengths, (length) => length - 1),
        T,
      );
      const { values: kl } = klPenalty(rolled(wide(inputs, "logprobs"), T), wide(inputs, "ref_logp"), {
        preset: "areal",
        shape,
        mask,
        estimator: inputs.oneOf("kl_estimator", ["k1", "k2", "k3"] as const),
        backend,
      });
      const placing = { shape, mask: before, scale: -inputs.number("kl_ctl"), backend };
      const rewards = groupPlace({ row: scores, values: kl }, placing);

      const byTurn = inputs.string("gae_timestep_unit") === "turn";
      const of: Scanned = {
        shape,
        rewards: byTurn ? groupPlace({ row: scores }, placing) : rewards,
        values: wide(inputs, "values"),
        mask,
        open,
        gamma: inputs.number("discount"),
        lambda: inputs.number("gae_lambda"),
      };
      const { advantages, returns } = byTurn
        ? turnGae(of, rolled(inputs.int32("turn_ids"), T), backend)
        : tokenGae(of, backend);
      const all = byTurn ? groupPlace({ tokens: advantages, values: kl }, placing) : advantages;
      return {
        advantages: inputs.has("adv_norm")
          ? normalizeLevels(all, { shape, mask, ...levelsOf(rule("adv_norm"), sizes, backend) })
          : all,
        returns,
        tot_rewards: rewards,
        shifted_loss_mask: mask,
      };
    },
  },
  {
    family,
    function: "gae_lambda_functions",
    ours: ["lambdaOfLength", "segments"],
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"], AssertionError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, { backend }) => {
      const where = { shape: inputs.shape2("loss_mask"), mask: inputs.uint8("loss_mask") };
      const lengths =
        inputs.string("gae_timestep_unit") === "token"
          ? countKept({ ...where, backend })
          : Float64Array.from(segments({ ...where, turns: inputs.int32("turn_ids") }).counts);
      return {
        lengths,
        vapo: lambdaOfLength(lengths, { alpha: inputs.number("alpha") }),
        relative: lambdaOfLength(lengths, { share: inputs.number("q") }),
      };
    },
  },
  {
    family,
    function: "masked_normalization",
    ours: "whiten",
    options: "ddof, epsilon 1e-5, transformMasked",
    replacedBy: "one kept number gives 0",
    run: (inputs, { backend }) => {
      const masked = inputs.has("mask");
      const x = wide(inputs, "x");
      return {
        normalized: whiten(masked ? x.map((each, i) => (inputs.uint8("mask")[i] === 0 ? 0 : each)) : x, {
          shape: inputs.shape2("x"),
          ...(masked && { mask: inputs.uint8("mask") }),
          over: inputs.has("dim") ? "row" : "all",
          ddof: inputs.boolean("unbiased") ? 1 : 0,
          epsilon: inputs.number("eps"),
          transformMasked: true,
          backend,
        }),
      };
    },
  },
  {
    family,
    function: "reward_overlong_penalty",
    ours: "overlongPenalty",
    options: 'beyond "grow"',
    backendFree: true,
    run: (inputs) => ({
      rewards: overlongPenalty(wide(inputs, "rewards"), inputs.int32("response_lengths"), {
        maxLength: inputs.number("max_response_length"),
        buffer: inputs.number("overlong_tokens"),
        factor: inputs.number("overlong_penalty_factor"),
        beyond: "grow",
      }).rewards,
    }),
  },
];
