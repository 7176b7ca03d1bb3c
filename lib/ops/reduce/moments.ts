/// <reference lib="esnext.disposable" preserve="true" />
// Moments of the kept numbers of rows, groups or everything; their merge.
import { MOMENTS, REDUCE_SCOPES, type ReduceMomentsArgs, type ReduceScope } from "../../backend/contract/reduce";
import { NAN_POLICIES, type NanPolicy } from "../../backend/contract/group";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, lengthOf, needFloat64, needFloats, optionalMask } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import { gatherGroups } from "../../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups } from "../../core/groups";
import { keepingLast } from "../../core/kept-memory";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherRowPartials } from "../../core/row-partials";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { type MaskedRows, needRows, type RowLayout, type Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";

takesDeviceArrays("moments", "mergeMoments");

/**
 * Moments of one or more units (rows, groups, workers): everything that batch statistics are made of, ready to be merged.
 *
 * `partials` is the whole state: [units, 6] row-major, each (count, sum, mean, M2, min, max) in float64, with
 * M2 = Σ(x − mean)². Send it to another worker, write it to a file, and make it a `Moments` again with the constructor. A
 * unit without numbers has count 0, sum 0, mean 0, M2 0, min ∞ and max −∞.
 */
export class Moments {
  readonly partials: Float64Array;

  constructor(partials: Float64Array) {
    const given: unknown = partials;
    const length = ArrayBuffer.isView(given) ? (given as Float64Array).length : 0;
    const units = Math.ceil(length / MOMENTS.length);
    this.partials = needFloat64(
      "Moments",
      "partials",
      given,
      units * MOMENTS.length,
      `${MOMENTS.length} for each unit`,
    );
  }

  /** How many rows, groups or workers. */
  get units(): number {
    return this.partials.length / MOMENTS.length;
  }

  /** How many numbers entered, one entry a unit; likewise the others below. Each access makes a new array. */
  get counts(): Float64Array {
    return this.#field("count");
  }
  get sums(): Float64Array {
    return this.#field("sum");
  }
  /** 0 for a unit without numbers. */
  get means(): Float64Array {
    return this.#field("mean");
  }
  /** Sums of squared deviations from the mean. */
  get m2s(): Float64Array {
    return this.#field("m2");
  }
  get mins(): Float64Array {
    return this.#field("min");
  }
  get maxs(): Float64Array {
    return this.#field("max");
  }

  /** M2 / (count − ddof); NaN where count <= ddof. ddof: 1 = sample, 0 = population. */
  variances(ddof = 1): Float64Array {
    const give = needNumber("Moments", "ddof", ddof, { min: 0 });
    const { counts, m2s } = this;
    return m2s.map((m2, u) => (counts[u]! > give ? m2 / (counts[u]! - give) : NaN));
  }

  /** Square roots of the variances. */
  stds(ddof = 1): Float64Array {
    return this.variances(ddof).map(Math.sqrt);
  }

  #field(name: (typeof MOMENTS)[number]): Float64Array {
    const field = new Float64Array(this.units);
    for (let u = 0, at = MOMENTS.indexOf(name); u < field.length; ++u, at += MOMENTS.length)
      field[u] = this.partials[at]!;
    return field;
  }
}

/** What numbers belong to which unit. */
export interface ReduceLayout extends RowLayout, GroupLayout {
  /** 1 = counts, 0 = is not read. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * A unit is a `"row"`, a `"group"` of rows (`groups` or `groupOffsets` say which) or `"all"` there is. Default: `"group"`
   * where groups are given, else `"all"`. Without `shape` and `offsets` the array is one row.
   */
  readonly over?: ReduceScope;
}

export interface MomentsOptions extends ReduceLayout, BackendOption, CollectiveOption {
  /** NaN: makes its unit NaN, or abstains (left out, as if masked). Default `"propagate"`. */
  readonly nan?: NanPolicy;
}

export interface MergeMomentsOptions extends GroupLayout, BackendOption {}

/** A call's numbers, checked, with what backends need to know about their units. */
export interface Reduction {
  readonly values: FloatArray;
  readonly mask: Uint8Array | null;
  readonly rows: Rows;
  /** Position in REDUCE_SCOPES. */
  readonly over: number;
  /** null = one unit a row. */
  readonly groups: Groups | null;
  readonly units: number;
}

function needLayout(op: string, values: unknown, { shape, offsets }: RowLayout): Rows {
  if (shape !== undefined || offsets !== undefined) return needRows(op, { shape, offsets });
  const length = lengthOf(values);
  return { n: length, B: 1, T: length, offsets: null, meaning: "its own length" };
}

/** Checks values, mask and layout of a public function. */
export function needReduction(op: string, values: unknown, layout: ReduceLayout): Reduction {
  const rows = needLayout(op, values, layout);
  const floats = needFloats(op, "values", values, rows.n, rows.meaning);
  const mask = optionalMask(op, "mask", layout.mask, rows.n, rows.meaning);
  const grouped = layout.groups != null || layout.groupOffsets != null;
  const scope = layout.over ?? (grouped ? "group" : "all");
  const over = needWord(op, "over", scope, REDUCE_SCOPES);
  if (grouped !== (scope === "group"))
    throw optionError(op, "over", scope, grouped ? '"group" where groups are given' : '"row" or "all" without groups');
  const groups = scope === "group" ? needGroups(op, layout, rows.B) : null;
  return { values: floats, mask, rows, over, groups, units: groups ? groups.G : scope === "row" ? rows.B : 1 };
}

/** The fields that every op on rows of numbers passes to a backend. */
export function reductionArgs({
  values,
  mask,
  rows: { n, B, T, offsets },
}: Reduction): Omit<ReduceMomentsArgs, "nanPolicy" | "partials"> {
  return { dtype: DTYPE_CODE[floatDType(values)], values, mask, offsets, n, B, T };
}

/** Moments that lie on a device. */
export class DeviceMoments {
  /** @internal */
  constructor(readonly partials: DeviceArray<"float64">) {}

  /** How many rows, groups or workers. */
  get units(): number {
    return this.partials.length / MOMENTS.length;
  }

  /** Waits for them. */
  read(): Moments {
    return new Moments(this.partials.read());
  }

  /** `read` off the event loop. */
  async readAsync(): Promise<Moments> {
    return new Moments(await this.partials.readAsync());
  }

  /** Gives their memory back. */
  dispose(): void {
    this.partials.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The state of all units, and the group of each row here; with a collective, groups are those of all workers. */
export interface UnitPartials {
  readonly partials: Float64Array;
  readonly groupIds: Int32Array | null;
}

const keptRows = keepingLast((length) => new Float64Array(length));
const keptUnits = keepingLast((length) => new Float64Array(length));

/** Runs on what is checked already, for the public function `op`. `inTurn`: they are read before another call begins. */
export function partialsOfUnits(
  op: string,
  reduction: Reduction,
  nanPolicy: number,
  { backend, collective }: BackendOption & CollectiveOption,
  stream: Stream | null,
  inTurn = false,
): UnitPartials {
  const { ops } = selectBackend(op, backend, stream);
  const memory = (length: number, kept: typeof keptRows): Float64Array =>
    inTurn && !stream ? kept(length) : float64Or(op, "", undefined, length, stream);
  const rows = memory(reduction.rows.B * MOMENTS.length, keptRows);
  ops.reduceMoments({ nanPolicy, partials: rows, ...reductionArgs(reduction) });
  if (REDUCE_SCOPES[reduction.over] === "row") return { partials: rows, groupIds: null };
  const { partials, begin, end } = gatherRowPartials(op, collective, rows, MOMENTS.length);
  const groups = reduction.groups && collective ? gatherGroups(op, collective, reduction.groups) : reduction.groups;
  const G = groups ? groups.G : 1;
  const merged = memory(G * MOMENTS.length, keptUnits);
  ops.reduceMerge({
    partials,
    members: groups && groups.members,
    offsets: groups && groups.offsets,
    B: partials.length / MOMENTS.length,
    G,
    merged,
  });
  return { partials: merged, groupIds: groups && groups.ids.subarray(begin, end) };
}

/** The same off the event loop, of this worker. */
export async function partialsOfUnitsAsync(
  op: string,
  reduction: Reduction,
  nanPolicy: number,
  options: AsyncOption & BackendOption,
): Promise<UnitPartials> {
  const { values, mask, rows, groups } = reduction;
  const { B, offsets } = rows;
  const partials = new Float64Array(B * MOMENTS.length);
  await runWhole(
    op,
    "reduceMoments",
    { nanPolicy, partials, ...reductionArgs(reduction) },
    { values, mask, offsets },
    options,
  );
  if (REDUCE_SCOPES[reduction.over] === "row") return { partials, groupIds: null };
  const merged = new Float64Array(reduction.units * MOMENTS.length);
  const args = {
    partials,
    members: groups && groups.members,
    offsets: groups && groups.offsets,
    B,
    G: reduction.units,
    merged,
  };
  await runWhole(op, "reduceMerge", args, { groupOffsets: args.offsets }, options);
  return { partials: merged, groupIds: groups && groups.ids };
}

/** The moments alone, of this worker. */
export function momentsOf(
  op: string,
  reduction: Reduction,
  nanPolicy: number,
  backend: BackendOption["backend"],
): Moments {
  return new Moments(partialsOfUnits(op, reduction, nanPolicy, { backend }, null).partials);
}

/** Of each row, on checked arrays, in the name of the public function `op`. */
export function rowMoments(
  op: string,
  values: FloatArray,
  { rows, mask }: MaskedRows,
  backend: BackendOption["backend"],
): Moments {
  const over = REDUCE_SCOPES.indexOf("row");
  return momentsOf(op, { values, mask, rows, over, groups: null, units: rows.B }, 0, backend);
}

/** Of all of them together. */
export function overallMoments(
  op: string,
  values: FloatArray,
  { rows, mask }: MaskedRows,
  backend: BackendOption["backend"],
): Moments {
  return momentsOf(op, { values, mask, rows, over: REDUCE_SCOPES.indexOf("all"), groups: null, units: 1 }, 0, backend);
}

/** The same on a device, where the first array lies. */
export function moments(values: DeviceFloatArray, options?: Anywhere<MomentsOptions>): DeviceMoments;
/**
 * Count, sum, mean, M2, minimum and maximum of the kept numbers of each unit, in float64.
 *
 *     count = Σ m,   sum = Σ m·x,   mean = sum / count,   M2 = Σ m·(x − mean)²
 *
 * Rows are summed in chunks of 4096 positions in two passes each, and merged in order: neither other rows nor padding behind
 * a row nor the number of threads changes a bit. Equal numbers have exactly themselves as mean and M2 = 0. With a
 * `collective`, groups and "all" are those of all workers, and units are numbered in the order of the global batch.
 *
 * @param values numbers, in their own unit; [n] as `shape` or `offsets` say, or one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Chan, Golub and LeVeque 1979, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances
 */
export function moments(values: FloatArray, options?: MomentsOptions): Moments;
export function moments(
  values: AnyFloatArray,
  anywhere: MomentsOptions | Anywhere<MomentsOptions> = {},
): Moments | DeviceMoments {
  const options = anywhere as MomentsOptions;
  const op = "moments";
  const stream = streamOf(op, options, values, options.mask);
  const reduction = needReduction(op, values, options);
  const nanPolicy = needWord(op, "nan", options.nan ?? "propagate", NAN_POLICIES);
  const { partials } = partialsOfUnits(op, reduction, nanPolicy, options, stream);
  return stream ? new DeviceMoments(partials as unknown as DeviceArray<"float64">) : new Moments(partials);
}

type Partials = Moments | Float64Array;
type DevicePartials = DeviceMoments | DeviceArray<"float64">;

function partialsOf(part: Partials | DevicePartials): Float64Array {
  if (DeviceArray.is(part)) return part as unknown as Float64Array;
  return (ArrayBuffer.isView(part) ? new Moments(part) : part).partials as Float64Array;
}

/** All partials behind one another. */
function joinPartials(op: string, arrays: readonly Float64Array[], stream: Stream | null): Float64Array {
  const joined = float64Or(
    op,
    "",
    undefined,
    arrays.reduce((length, array) => length + array.length, 0),
    stream,
  );
  let at = 0;
  for (const array of arrays) {
    const part = needFloat64(
      op,
      "parts",
      array,
      MOMENTS.length * Math.ceil(array.length / MOMENTS.length),
      `${MOMENTS.length} for each unit`,
    );
    if (stream) copyInto(joined as unknown as DeviceArray<"float64">, part, at);
    else joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function copyInto(joined: DeviceArray<"float64">, part: Float64Array, at: number): void {
  const place = joined.view(at, at + part.length);
  if (DeviceArray.is(part)) place.copyFrom(part as unknown as DeviceArray<"float64">);
  else place.write(part);
  place.dispose();
}

/** The same on a device, where the first of the parts lies. */
export function mergeMoments(
  parts: DevicePartials | readonly [DevicePartials, ...(Partials | DevicePartials)[]],
  options?: Anywhere<MergeMomentsOptions>,
): DeviceMoments;
/**
 * Merges moments: units of one call, or the moments that several workers computed of their own parts. All units of all
 * `parts`, in order, are the items of `groups` or `groupOffsets`; without them everything becomes one unit.
 *
 * Counts and extremes are exactly those of the whole; sums, means and M2 to rounding, see docs/ops/reduce.md.
 *
 * @param parts moments, or their `partials`; one or a list
 * @throws SurprisalError as `moments`
 */
export function mergeMoments(parts: Partials | readonly Partials[], options?: MergeMomentsOptions): Moments;
export function mergeMoments(
  parts: Partials | DevicePartials | readonly (Partials | DevicePartials)[],
  options: MergeMomentsOptions = {},
): Moments | DeviceMoments {
  const op = "mergeMoments";
  const list = Array.isArray(parts)
    ? (parts as readonly (Partials | DevicePartials)[])
    : [parts as Partials | DevicePartials];
  const arrays = list.map(partialsOf);
  const stream = streamOf(op, options, ...arrays);
  const partials = joinPartials(op, arrays, stream);
  const B = partials.length / MOMENTS.length;
  const grouped = options.groups != null || options.groupOffsets != null;
  const groups = grouped ? needGroups(op, options, B) : null;
  const G = groups ? groups.G : 1;
  const merged = float64Or(op, "", undefined, G * MOMENTS.length, stream);
  selectBackend(op, options.backend, stream).ops.reduceMerge({
    partials,
    members: groups && groups.members,
    offsets: groups && groups.offsets,
    B,
    G,
    merged,
  });
  return stream ? new DeviceMoments(merged as unknown as DeviceArray<"float64">) : new Moments(merged);
}
