// Log ratios of two policies. docs/ops/ratio.md has the formulas.
import { selectBackend } from "../../backend/select";
import { needOutput, refuseOverlap } from "../../core/arrays";
import { allocateFloat, asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../../core/dtype";
import { needUnits, type RatioOptions } from "./units";

export interface LogRatioOptions extends RatioOptions {
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly logRatios?: FloatArray; readonly ratios?: FloatArray };
}

export interface LogRatioResult {
  /** One per token, row or group, as `level` says. 0 for a masked token and for a row or group without kept tokens. */
  readonly logRatios: FloatArray;
  /** exp(logRatios); 0 for a masked token. */
  readonly ratios: FloatArray;
}

/**
 * Log ratios of a current and an old policy, from log-probs of the same tokens.
 *
 *     token     x[t] = current[t] − old[t]
 *     sequence  x[b] = mean (or sum) of current − old over the kept tokens of row b
 *     group     the same over the kept tokens of all rows of a group
 *
 * @param current log-probs under the current policy, nats; [n] as `shape` or `offsets` say
 * @param old log-probs under the policy that sampled, same shape
 * @returns log ratios and ratios, float64 if an input is, else float32; differences and sums in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function logRatio(current: FloatArray, old: FloatArray, options: LogRatioOptions): LogRatioResult {
  const op = "logRatio";
  const units = needUnits(op, current, old, options);
  const { count, common } = units;
  const dtype = widestFloat(units.current, units.old);
  const output = (name: "logRatios" | "ratios"): FloatArray => {
    const given = options.out?.[name];
    return given === undefined ? allocateFloat(dtype, count) : needOutput(op, name, given, dtype, count);
  };
  const logRatios = output("logRatios");
  const ratios = output("ratios");
  const { mask, offsets, groupOffsets } = common;
  refuseOverlap(op, { logRatios, ratios }, { current, old, mask, offsets, groupOffsets });
  selectBackend(op, options.backend).ops.ratioLog({
    dtype: DTYPE_CODE[dtype],
    current: asFloat(units.current, dtype),
    old: asFloat(units.old, dtype),
    logRatio: logRatios,
    ratio: ratios,
    ...common,
  });
  return { logRatios, ratios };
}
