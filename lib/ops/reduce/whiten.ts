// Numbers centred and scaled by the moments of their unit.
import { type GroupCenter, type GroupScale, NAN_POLICIES, type NanPolicy } from "../../backend/contract/group";
import { MOMENTS, type ReduceWhitenArgs } from "../../backend/contract/reduce";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloat64, needOutput, overlaps, refuseOverlap } from "../../core/arrays";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import type { CollectiveOption } from "../../core/collective";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import { dtypeError, SurprisalError } from "../../core/errors";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import type { Stream } from "../../core/stream";
import type { Writable } from "../../core/writable";
import {
  DeviceMoments,
  Moments,
  needReduction,
  partialsOfUnits,
  partialsOfUnitsAsync,
  type ReduceLayout,
  type Reduction,
  reductionArgs,
  type UnitPartials,
} from "./moments";

takesDeviceArrays("whiten");

/** The choices in which systems differ when they whiten. */
export interface WhitenConventions {
  /** Subtract the mean, or nothing. Default `"mean"`. */
  readonly center?: WhitenCenter;
  /** Divide by the stabilised std, or not. Default `"std"`. */
  readonly scale?: WhitenScale;
  /** Degrees of freedom that the variance gives up: 1 = sample, 0 = population. Default 1. */
  readonly ddof?: number;
  /** Added to the count where mean and variance are formed, >= 0: a constant unit is then not quite 0. Default 0. */
  readonly countEpsilon?: number;
  /** Added to the variance, >= 0. Default 1e-8 where none of these three is given, else each missing one is 0. */
  readonly varianceEpsilon?: number;
  /** The variance is not allowed below this, >= 0. */
  readonly varianceFloor?: number;
  /** Added to the std, >= 0. */
  readonly epsilon?: number;
  /** Add the mean again after scaling. Default false. */
  readonly keepMean?: boolean;
  /** NaN: makes its unit NaN, or abstains (left out of the moments, own result 0). Default `"propagate"`. */
  readonly nan?: NanPolicy;
  /** Masked positions: 0 without being read (false), or the same map as the kept ones (true). Default false. */
  readonly transformMasked?: boolean;
}

const WHITEN_CENTERS = ["none", "mean"] as const satisfies readonly GroupCenter[];
const WHITEN_SCALES = ["none", "std"] as const satisfies readonly GroupScale[];
export type WhitenScale = (typeof WHITEN_SCALES)[number];
export type WhitenCenter = (typeof WHITEN_CENTERS)[number];

export interface WhitenOptions extends WhitenConventions, ReduceLayout, BackendOption, CollectiveOption {
  /** Use these moments, one unit each, instead of those of `values`, here or on the workers of a `collective`. */
  readonly moments?: Pick<Moments, "partials">;
  /** Reuse memory instead of allocating. May be `values` itself; no other overlap. */
  readonly out?: { readonly whitened?: FloatArray };
}

/** Options where the values lie on a device. */
export type DeviceWhitenOptions = Anywhere<Omit<WhitenOptions, "moments">> & {
  readonly moments?: Pick<Moments | DeviceMoments, "partials">;
};

/** The caller's output, which may be the memory of `values`, or a new array. */
export function mappedOutput(
  op: string,
  name: string,
  given: FloatArray | undefined,
  { values, mask, rows }: Reduction,
  stream: Stream | null,
): FloatArray {
  const dtype = floatDType(values);
  if (given === undefined) return allocateFloat(dtype, rows.n, stream);
  const out = needOutput(op, name, given, dtype, rows.n);
  const same = overlaps(out, values) && out.byteOffset === values.byteOffset;
  refuseOverlap(op, out, { [name]: out }, { values: same ? null : values, mask, offsets: rows.offsets });
  return out;
}

/** By structure: a clone that came from another worker has no class any more. */
function needMoments(op: string, given: Pick<Moments, "partials">, units: number): Float64Array {
  const candidate: unknown = given;
  if (typeof candidate !== "object" || candidate === null)
    throw dtypeError(op, "moments", candidate, "Moments", "moments() and mergeMoments() make them");
  const found = DeviceArray.is(given.partials)
    ? new DeviceMoments(given.partials as DeviceArray<"float64">)
    : new Moments(given.partials);
  if (found.units === units) return needFloat64(op, "moments", found.partials, found.partials.length, "");
  const want = `${units}, one a row, one a group, or one for all as \`over\` says`;
  throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: moments has ${found.units} units, expected ${want}`, {
    op,
    name: "moments",
    got: found.units,
    want,
  });
}

/** A checked call; the units' moments are there, or to be made. */
function whitenCall(op: string, values: FloatArray, options: WhitenOptions) {
  const stream = streamOf(op, options, values, options.mask, options.moments?.partials);
  const reduction = needReduction(op, values, options);
  const nonNegative = { min: 0 } as const;
  const unsaid =
    options.epsilon === undefined && options.varianceEpsilon === undefined && options.varianceFloor === undefined;
  const conventions = {
    center: needWord(op, "center", options.center ?? "mean", WHITEN_CENTERS),
    scale: needWord(op, "scale", options.scale ?? "std", WHITEN_SCALES),
    ddof: needNumber(op, "ddof", options.ddof ?? 1, nonNegative),
    countEpsilon: needNumber(op, "countEpsilon", options.countEpsilon ?? 0, nonNegative),
    epsilon: needNumber(op, "epsilon", options.epsilon ?? 0, nonNegative),
    varianceEpsilon: needNumber(op, "varianceEpsilon", options.varianceEpsilon ?? (unsaid ? 1e-8 : 0), nonNegative),
    varianceFloor: needNumber(op, "varianceFloor", options.varianceFloor ?? 0, nonNegative),
    keepMean: needFlag(op, "keepMean", options.keepMean),
    nanPolicy: needWord(op, "nan", options.nan ?? "propagate", NAN_POLICIES),
    transformMasked: needFlag(op, "transformMasked", options.transformMasked),
  };
  const given = options.moments === undefined ? undefined : needMoments(op, options.moments, reduction.units);
  const whitened = mappedOutput(op, "whitened", options.out?.whitened, reduction, stream);
  refuseOverlap(op, options.out, { whitened }, { moments: given });
  return { stream, reduction, conventions, given, whitened };
}

type WhitenCall = ReturnType<typeof whitenCall>;

function whitenArgs(
  { reduction, conventions, whitened }: WhitenCall,
  { partials, groupIds }: UnitPartials,
): ReduceWhitenArgs {
  const args = conventions as Writable<ReduceWhitenArgs>;
  const { dtype, values, mask, offsets, n, B, T } = reductionArgs(reduction);
  args.dtype = dtype;
  args.values = values;
  args.mask = mask;
  args.offsets = offsets;
  args.n = n;
  args.B = B;
  args.T = T;
  args.groupIds = groupIds;
  args.moments = partials;
  args.units = partials.length / MOMENTS.length;
  args.over = reduction.over;
  args.whitened = whitened;
  return args;
}

/** Moments that the caller has, of the groups here. */
function givenUnits({ reduction: { groups } }: WhitenCall, partials: Float64Array): UnitPartials {
  return { partials, groupIds: groups && groups.ids };
}

/** The same on a device, where the first array lies. */
export function whiten(values: DeviceFloatArray, options?: DeviceWhitenOptions): DeviceFloatArray;
/**
 * Whitens the kept numbers of each unit: centres them on its mean and divides by its standard deviation.
 *
 *     variance = M2 / (count − ddof),   0 where count <= ddof
 *     y = (x − mean) / (sqrt(max(variance, varianceFloor) + varianceEpsilon) + epsilon),   + mean with keepMean
 *
 * A number equal to the mean gives exactly 0, so a constant unit gives exact zeros. Computed in float64, rounded once. With a
 * `collective` groups and `over: "all"` span its workers.
 *
 * @param values numbers; [n] as `shape` or `offsets` say, or one row
 * @returns numbers in the type of `values`; `moments` says what they came from
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function whiten(values: FloatArray, options?: WhitenOptions): FloatArray;
export function whiten(values: AnyFloatArray, anywhere: WhitenOptions | DeviceWhitenOptions = {}): AnyFloatArray {
  const options = anywhere as WhitenOptions;
  const op = "whiten";
  const call = whitenCall(op, values as FloatArray, options);
  const { stream, reduction, conventions, given, whitened } = call;
  const units = given
    ? givenUnits(call, given)
    : partialsOfUnits(op, reduction, conventions.nanPolicy, options, stream, true);
  selectBackend(op, options.backend, stream).ops.reduceWhiten(whitenArgs(call, units));
  return whitened;
}

/**
 * `whiten` off the event loop, without a `collective`. The arrays must not be touched until it resolves.
 */
export async function whitenAsync(
  values: FloatArray,
  options: Omit<WhitenOptions, "collective"> & AsyncOption = {},
): Promise<FloatArray> {
  const op = "whitenAsync";
  const call = whitenCall(op, values, options);
  const { reduction, conventions, given, whitened } = call;
  const units = given
    ? givenUnits(call, given)
    : await partialsOfUnitsAsync(op, reduction, conventions.nanPolicy, options);
  const { mask, rows } = reduction;
  const arrays = { values: reduction.values, mask, offsets: rows.offsets, moments: units.partials, whitened };
  await runWhole(op, "reduceWhiten", whitenArgs(call, units), arrays, options);
  return whitened;
}
