// A running baseline per role (player, agent), for advantages of several policies that play together: plain state, a pure update.
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError, valueError } from "../core/errors";
import { needNumber } from "../core/option-checks";

/** What the next update needs. Plain data, to be stored as JSON. */
export interface RoleBaselines {
  /** The baseline of each role that was seen, by its name. */
  readonly baselines: Readonly<Record<string, number>>;
}

/** Of a role that was not seen yet the baseline is 0. */
export const NO_BASELINES: RoleBaselines = { baselines: {} };

export interface RoleBaselinesOptions {
  /** What stays of a baseline when a reward enters, in [0, 1]. Default 0.95. */
  readonly decay?: number;
}

export interface RoleAdvantages {
  /** Reward − baseline, one per row, float64. */
  readonly advantages: Float64Array;
  readonly state: RoleBaselines;
}

/**
 * Role-conditioned advantages: each reward less the running baseline of its role, which then takes the reward in; row after row.
 *
 *     a_b = r_b − baseline[role_b],   baseline[role_b] ← decay·baseline[role_b] + (1 − decay)·r_b
 *
 * @param state of the call before; `NO_BASELINES` at the start. It stays as it was
 * @param rewards one per row, finite
 * @param roles one name per row; numbers count as their names
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _VALUE or _BUFFER, naming the argument
 * @see Liu et al. 2025, SPIRAL (role-conditioned advantage estimation); prime-rl, algo/rae.py
 */
export function updateRoleBaselines(
  state: RoleBaselines,
  rewards: FloatArray,
  roles: ArrayLike<string | number>,
  options: RoleBaselinesOptions = {},
): RoleAdvantages {
  const op = "updateRoleBaselines";
  const given: unknown = state; // State comes from files and other processes.
  const known = typeof given === "object" && given !== null ? (given as RoleBaselines).baselines : undefined;
  if (typeof known !== "object") throw optionError(op, "state", given, "{ baselines }");
  const count = (roles as ArrayLike<unknown> | undefined)?.length ?? 0;
  const values = needFloats(op, "rewards", rewards, count, "one per role of `roles`");
  const decay = needNumber(op, "decay", options.decay ?? 0.95, { min: 0, max: 1 });
  const baselines = new Map(Object.entries(known));
  const advantages = Float64Array.from(values, (reward, b) => {
    if (!Number.isFinite(reward))
      throw valueError(op, `rewards[${b}]`, reward, "a finite number: a baseline would not recover");
    const role = String(roles[b]);
    const baseline = needNumber(op, `state.baselines.${role}`, baselines.get(role) ?? 0);
    baselines.set(role, decay * baseline + (1 - decay) * reward);
    return reward - baseline;
  });
  return { advantages, state: { baselines: Object.fromEntries(baselines) } };
}
