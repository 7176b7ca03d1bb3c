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
  logProbs: DeviceFloatArray,
  oldLogProbs: AnyFloatArray,
  options: Anywhere<LogRatioOptions>,
): OnDevice<LogRatioResult>;
/**
 * Log ratios of a current and an old policy, from log-probs of the same tokens.
 *
 *     token     x[t] = logProbs[t] − oldLogProbs[t]
 *     sequence  x[b] = mean (or sum) of logProbs − oldLogProbs over the kept tokens of row b
 *     group     the same over the kept tokens of all rows of a group
 *
 * @param logProbs log-probs under the current policy, nats; [n] as `shape` or `offsets` say
 * @param oldLogProbs log-probs under the policy that sampled, same shape
 * @returns log ratios and ratios, float64 if an input is, else float32; differences and sums in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function logRatio(logProbs: FloatArray, oldLogProbs: FloatArray, options: LogRatioOptions): LogRatioResult;
export function logRatio(
  logProbs: AnyFloatArray,
  oldLogProbs: AnyFloatArray,
  anywhere: LogRatioOptions | Anywhere<LogRatioOptions>,
): LogRatioResult | OnDevice<LogRatioResult> {
  const options = anywhere as LogRatioOptions;
  const op = "logRatio";
  const stream = streamOf(op, options, logProbs, oldLogProbs, options.mask);
  const units = needUnits(op, logProbs, oldLogProbs, options);
  const { count, common } = units;
  const dtype = widestFloat(units.logProbs, units.oldLogProbs);
  const logRatios = outputOr(op, "logRatios", options.out?.logRatios, dtype, count, stream);
  const ratios = outputOr(op, "ratios", options.out?.ratios, dtype, count, stream);
  const { mask, offsets, members, groupOffsets } = common;
  refuseOverlap(
    op,
    options.out,
    { logRatios, ratios },
    { logProbs: units.logProbs, oldLogProbs: units.oldLogProbs, mask, offsets, groupOffsets },
  );
  selectBackend(op, options.backend, stream).ops.ratioLog({
    // Each by name: a spread costs a third of a small call.
    mask,
    offsets,
    members,
    groupOffsets,
    n: common.n,
    B: common.B,
    T: common.T,
    G: common.G,
    level: common.level,
    reduce: common.reduce,
    dtype: DTYPE_CODE[dtype],
    logProbs: asFloat(units.logProbs, dtype),
    oldLogProbs: asFloat(units.oldLogProbs, dtype),
    logRatios,
    ratios,
  });
  return { logRatios, ratios };
}
