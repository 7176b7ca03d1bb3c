// PufferLib: GAE over a flat buffer of episodes; V-trace, time first.
import { gae, logRatio, puffAdvantage, vtrace } from "surprisal";
import type { FloatArray, Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { transpose } from "./arrange";

/**
 * A flat buffer as packed rows, one an episode. Reward and done of entry t+1 belong to the step from t to t+1: the last
 * entry opens no step, its value is the bootstrap of an episode that runs on.
 */
function episodes(values: FloatArray, dones: FloatArray): { offsets: Int32Array; bootstrap: FloatArray } {
  const steps = values.length - 1;
  const doneAt = Array.from(dones.keys()).filter((t) => t > 0 && dones[t] !== 0);
  const runsOn = steps > 0 && dones[steps] === 0;
  const offsets = Int32Array.from([0, ...doneAt, ...(runsOn ? [steps] : [])]);
  const bootstrap = new Float64Array(offsets.length - 1);
  if (runsOn) bootstrap.set(values.subarray(steps), bootstrap.length - 1);
  return { offsets, bootstrap };
}

function timeLast(inputs: Inputs, name: string): FloatArray {
  return transpose(inputs.floats(name), inputs.shape2(name));
}

export const pufferlib: readonly Mapping[] = [
  {
    family: "pufferlib",
    function: "compute_gae",
    ours: "gae",
    options: "offsets, bootstrap",
    differs:
      "one flat buffer with flags where an episode ends; reward and flag come one entry late; here an episode is a packed row",
    run: (inputs, { backend }) => {
      const values = inputs.floats("values");
      const { advantages } = gae(inputs.floats("rewards").subarray(1), values.subarray(0, -1), {
        ...episodes(values, inputs.floats("dones")),
        gamma: inputs.number("gamma"),
        lambda: inputs.number("gae_lambda"),
        backend,
      });
      return { advantages: [...advantages, 0] };
    },
  },
  {
    family: "pufferlib",
    function: "vtrace_reference",
    ours: ["vtrace", "logRatio"],
    options: "weights by logRatio",
    differs: "time first; here rows first",
    run: (inputs, { backend }) => {
      const [time, rows] = inputs.shape2("rewards");
      const shape = [rows, time] as const;
      // In float64: weights rounded to float32 would move a target by 2e-7.
      const logWeights = Float64Array.from(timeLast(inputs, "log_rhos"));
      const zeros = new Float64Array(logWeights.length);
      const weights = logRatio(logWeights, zeros, { level: "token", shape, backend }).ratios;
      const { targets, advantages } = vtrace(timeLast(inputs, "rewards"), timeLast(inputs, "values"), weights, {
        shape,
        gamma: timeLast(inputs, "discounts"),
        bootstrap: inputs.floats("bootstrap_value"),
        lambda: inputs.number("lambda"),
        rhoBar: inputs.number("rho_bar"),
        cBar: inputs.number("c_bar"),
        pgRhoBar: inputs.number("pg_rho_bar"),
        backend,
      });
      return { vs: transpose(targets, shape), pg_advantages: transpose(advantages, shape) };
    },
  },
  {
    family: "pufferlib",
    function: "puff_advantage",
    ours: "puffAdvantage",
    run: (inputs, { backend }) => {
      const { advantages } = puffAdvantage(
        {
          shape: inputs.shape2("rewards"),
          tokenRewards: inputs.floats("rewards"),
          values: inputs.floats("values"),
          dones: inputs.floats("dones"),
          importanceWeights: inputs.floats("importance"),
        },
        {
          gamma: inputs.number("gamma"),
          lambda: inputs.number("lambda"),
          rhoClip: inputs.number("rho_clip"),
          cClip: inputs.number("c_clip"),
          delta: inputs.boolean("rho_on_reward_only") ? "reward" : "corrected",
          backend,
        },
      );
      return { advantages };
    },
  },
];
