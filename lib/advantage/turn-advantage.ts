// Estimators that take a turn for one step: its tokens share a reward, a value and an advantage.
import type { BackendOption } from "../backend/select";
import type { FloatArray } from "../core/dtype";
import { asFloat } from "../core/float-arrays";
import { needFlag, needWord } from "../core/option-checks";
import { layoutOfRows } from "../core/row-layout";
import { type Segments, segments } from "../ops/delim";
import { groupBroadcast } from "../ops/group";
import { endValues, moments } from "../ops/reduce";
import { discountedReturns, gae } from "../ops/scan";
import { type CheckedTokens, needTokenBatch, roundedTo, type TokenRewardBatch } from "./token-rewards";

/** Rollouts whose kept tokens belong to turns. */
export interface TurnBatch extends TokenRewardBatch {
  /** The number of its turn per token, never going down along a row. Default: a turn is a run of kept tokens. */
  readonly turns?: Int32Array;
}

export interface TurnGaeBatch extends TurnBatch {
  /** The critic's V per token; that of a turn's first kept token is the turn's. */
  readonly values: FloatArray;
  /** One value per row for the state behind its last turn. Default: 0. */
  readonly bootstrap?: FloatArray;
}

export interface TurnReturnsAdvantageOptions extends BackendOption {
  /** Discount of one turn, in [0, 1]. Default 1. */
  readonly gamma?: number;
  /** The reward of a turn: the `"sum"` over its kept tokens, or that at the `"last"` of them. Default `"sum"`. */
  readonly reward?: "sum" | "last";
}

export interface TurnGaeAdvantageOptions extends BackendOption {
  /** Discount of one turn, in [0, 1]. */
  readonly gamma: number;
  /** Bias/variance knob, in [0, 1]: a number, or one per row. */
  readonly lambda: number | FloatArray;
  /** Returns of masked tokens are their values, which are read for that alone, instead of 0. Default false. */
  readonly transformMasked?: boolean;
}

/** Per token; turns as `segments` has them. */
export interface TurnAdvantageResult {
  /** The advantage of the token's turn; 0 under the mask. */
  readonly advantages: FloatArray;
  /** What the critic learns: the return of the token's turn; 0 under the mask, but for `transformMasked`. */
  readonly returns: FloatArray;
  readonly turns: Segments;
}

function turnsOf(batch: TurnBatch, { rows, mask }: CheckedTokens): Segments {
  return segments({ ...layoutOfRows(rows), mask: mask ?? undefined, turns: batch.turns });
}

/** A number per turn at the kept tokens of the turn. */
function spread(perTurn: FloatArray, { offsets, mask }: Segments, backend: BackendOption): FloatArray {
  return groupBroadcast(perTurn, { offsets, mask, ...backend });
}

/**
 * Generalized advantage estimation turn by turn: a turn is one step, with the sum of its rewards, and the value of its first token.
 *
 *     δ_k = Σ r of turn k + γ·V_(k+1) − V_k,   A_k = δ_k + γ·λ·A_(k+1),   return = A_k + V_k
 *
 * @param batch `turns` numbers the turns; without it a turn is a run of kept tokens
 * @returns in the widest float type of the inputs; computed in float64, rounded once. Not whitened
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _VALUE (turns that go down), naming the argument
 * @see AReaL, areal/trainer/ppo/gae.py (turn level)
 */
export function turnGaeAdvantage(batch: TurnGaeBatch, options: TurnGaeAdvantageOptions): TurnAdvantageResult {
  const op = "turnGaeAdvantage";
  const checked = needTokenBatch(op, batch, [batch.values, batch.bootstrap], options);
  const turns = turnsOf(batch, checked);
  const backend = { backend: options.backend };
  const { offsets, mask } = turns;
  const values = checked.tokens("values", batch.values);
  const { sums } = moments(checked.rewards, { offsets, mask, over: "row", ...backend });
  const raw = gae(sums, endValues(values, { offsets, mask, at: "first" }), {
    offsets: turns.rowOffsets,
    mask: turns.kept,
    gamma: options.gamma,
    lambda: options.lambda,
    bootstrap: batch.bootstrap && asFloat(batch.bootstrap, "float64"),
    ...backend,
  });
  const everywhere = needFlag(op, "transformMasked", options.transformMasked) === 1;
  const spreadReturns = spread(raw.returns, turns, backend);
  const returns = everywhere ? spreadReturns.map((x, i) => (mask[i] === 0 ? values[i]! : x)) : spreadReturns;
  return {
    advantages: roundedTo(checked.dtype, spread(raw.advantages, turns, backend)),
    returns: roundedTo(checked.dtype, returns),
    turns,
  };
}

/**
 * Discounted returns turn by turn, the same for all tokens of a turn: R_k = r_k + γ·R_(k+1).
 *
 * @param batch `turns` numbers the turns; without it a turn is a run of kept tokens
 * @returns in the type of the rewards; computed in float64, rounded once. The advantages are the returns
 * @throws SurprisalError as `turnGaeAdvantage`
 * @see ROLL, roll/pipeline/agentic/utils.py (agentic_reinforce: the reward at the last token of a run)
 */
export function turnReturnsAdvantage(batch: TurnBatch, options: TurnReturnsAdvantageOptions = {}): TurnAdvantageResult {
  const op = "turnReturnsAdvantage";
  const last = needWord(op, "reward", options.reward ?? "sum", ["sum", "last"]) === 1;
  const checked = needTokenBatch(op, batch, [], options);
  const turns = turnsOf(batch, checked);
  const backend = { backend: options.backend };
  const { offsets, mask } = turns;
  const rewards = last
    ? endValues(checked.rewards, { offsets, mask, at: "last" })
    : moments(checked.rewards, { offsets, mask, over: "row", ...backend }).sums;
  const { gamma = 1 } = options;
  const perTurn = discountedReturns(rewards, { offsets: turns.rowOffsets, mask: turns.kept, gamma, ...backend });
  const advantages = roundedTo(checked.dtype, spread(perTurn, turns, backend));
  return { advantages, returns: advantages, turns };
}
