// Log ratios of two policies. docs/ops/ratio.md has the formulas.
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needUnits, type RatioOptions } from "./ratio-units";

takesDeviceArrays("logRatio");

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

/** The same on a device, where the first array lies. */
export function logRatio(
  current: DeviceFloatArray,
  old: AnyFloatArray,
  options: Anywhere<LogRatioOptions>,
): OnDevice<LogRatioResult>;
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
export function logRatio(current: FloatArray, old: FloatArray, options: LogRatioOptions): LogRatioResult;
export function logRatio(
  current: AnyFloatArray,
  old: AnyFloatArray,
  anywhere: LogRatioOptions | Anywhere<LogRatioOptions>,
): LogRatioResult | OnDevice<LogRatioResult> {
  const options = anywhere as LogRatioOptions;
  const op = "logRatio";
  const stream = streamOf(op, options, current, old, options.mask);
  const units = needUnits(op, current, old, options);
  const { count, common } = units;
  const dtype = widestFloat(units.current, units.old);
  const logRatios = outputOr(op, "logRatios", options.out?.logRatios, dtype, count, stream);
  const ratios = outputOr(op, "ratios", options.out?.ratios, dtype, count, stream);
  const { mask, offsets, groupOffsets } = common;
  refuseOverlap(op, { logRatios, ratios }, { current: units.current, old: units.old, mask, offsets, groupOffsets });
  selectBackend(op, options.backend, stream).ops.ratioLog({
    ...common,
    dtype: DTYPE_CODE[dtype],
    current: asFloat(units.current, dtype),
    old: asFloat(units.old, dtype),
    logRatio: logRatios,
    ratio: ratios,
  });
  return { logRatios, ratios };
}
