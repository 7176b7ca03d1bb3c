// AReaL: advantages, weights, masks and metrics.
import {
  countKept,
  gae,
  lambdaOfLength,
  normalizeLevels,
  overlongPenalty,
  proximalLogProbs,
  segments,
  turnGaeAdvantage,
  whiten,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Mapping } from "../../mapping";

const family = "areal";

const wide = (inputs: Inputs, name: string): Float64Array => Float64Array.from(inputs.floats(name));
const lambdaOf = (inputs: Inputs): number | FloatArray =>
  typeof inputs.value("gae_lambda") === "number" ? inputs.number("gae_lambda") : inputs.floats("gae_lambda");

/** The last column of a matrix, in the rows without an end token: what is expected behind them. */
function behind(inputs: Inputs, values: FloatArray): Float64Array {
  const [B, T] = inputs.shape2("values");
  const open = inputs.uint8("seq_no_eos_mask");
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

export const arealAdvantages: readonly Mapping[] = [
  {
    family,
    function: "Normalization",
    ours: "normalizeLevels",
    options: 'about "center", epsilon 1e-5',
    run: (inputs, { backend }) => {
      const shape = inputs.shape("x");
      const sizes = inputs.int32("group_sizes");
      const groupOffsets = Int32Array.from([
        0,
        ...sizes.map((_, g) => sizes.slice(0, g + 1).reduce((a, b) => a + b, 0)),
      ]);
      const level = (name: string) => (inputs.has(name) ? inputs.oneOf(name, ["batch", "group"]) : "none");
      return {
        normalized: normalizeLevels(wide(inputs, "x"), {
          ...(shape.length === 2 && { shape: inputs.shape2("x") }),
          ...(inputs.has("loss_mask") && {
            mask: inputs.uint8("loss_mask"),
            shape: shape.length === 2 ? inputs.shape2("x") : ([shape[0]!, 1] as const),
          }),
          groupOffsets,
          center: level("mean_level"),
          leaveOneOut: inputs.boolean("mean_leave1out"),
          scale: level("std_level"),
          about: "center",
          ddof: inputs.boolean("std_unbiased") ? 1 : 0,
          epsilon: inputs.number("eps"),
          backend,
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
    run: (inputs, { backend }) => {
      const [B, T] = inputs.shape2("values");
      const values = wide(inputs, "values");
      const { advantages, returns } = gae(shortened(wide(inputs, "rewards"), T), shortened(values, T), {
        shape: [B, T - 1],
        mask: shortened(inputs.uint8("loss_mask"), T),
        transformMasked: true,
        gamma: inputs.number("discount"),
        lambda: lambdaOf(inputs),
        bootstrap: behind(inputs, values),
        backend,
      });
      return {
        advantages: completed(advantages, T, () => 0),
        returns: completed(returns, T, (b) => values[b * T + T - 1]!),
      };
    },
  },
  {
    family,
    function: "compute_turn_level_gae",
    ours: "turnGaeAdvantage",
    options: "turns, bootstrap; λ a number or one per row",
    failures: { RuntimeError: ["ERR_SURPRISAL_VALUE"] },
    run: (inputs, { backend }) => {
      const values = wide(inputs, "values");
      const { advantages, returns } = turnGaeAdvantage(
        {
          tokenRewards: wide(inputs, "rewards"),
          values,
          mask: inputs.uint8("loss_mask"),
          turns: inputs.int32("turn_ids"),
          shape: inputs.shape2("values"),
          bootstrap: behind(inputs, values),
        },
        { gamma: inputs.number("discount"), lambda: lambdaOf(inputs), transformMasked: true, backend },
      );
      return { advantages, returns };
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
