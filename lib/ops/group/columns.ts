// Baselines per column over the rows of a group.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { Collective, CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { gatherGroups } from "../../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups, type NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { concatenated, gatherRagged, gatherRowPartials } from "../../core/row-partials";
import { needRows, rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("groupColumns");

export interface GroupColumnsOptions extends RowLayout, GroupLayout, BackendOption, CollectiveOption {
  /** 1 = a token that counts, 0 = never read, result 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Added to the summed weights, >= 0. Default 0. */
  readonly epsilon?: number;
  /** Baseline 0 at columns that a single row of the group reaches. Default false. */
  readonly zeroTail?: boolean;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly baselines?: FloatArray; readonly centred?: FloatArray };
}

export interface GroupColumnsResult {
  /** The baseline of its column at each kept token. */
  readonly baselines: FloatArray;
  /** The value less the baseline at each kept token. */
  readonly centred: FloatArray;
}

interface Tokens {
  readonly values: FloatArray;
  readonly weights: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly B: number;
  readonly T: number;
}

/** The tokens of all workers as packed rows; those here start at `begin`. */
function gatherTokens(op: string, collective: Collective, tokens: Tokens, groups: Groups) {
  const { values, weights, mask, B } = tokens;
  const lengths = Float64Array.from({ length: B }, (_, b) => rowEnd(tokens, b) - rowBegin(tokens, b));
  const rows = gatherRowPartials(op, collective, lengths);
  const offsets = new Int32Array(rows.partials.length + 1);
  rows.partials.forEach((length, b) => (offsets[b + 1] = offsets[b]! + length));
  const gather = (array: ArrayLike<number>): Float64Array =>
    concatenated(gatherRagged(collective, Float64Array.from(array)));
  const everywhere = gatherGroups(op, collective, groups);
  return {
    values: gather(values),
    weights: gather(weights),
    mask: Uint8Array.from(gather(mask ?? new Uint8Array(values.length).fill(1)), (flag) => (flag !== 0 ? 1 : 0)),
    offsets,
    members: everywhere.members,
    groupOffsets: everywhere.offsets,
    n: offsets.at(-1)!,
    B: rows.partials.length,
    T: 0,
    G: everywhere.G,
    begin: offsets[rows.begin]!,
  };
}

/** The same on a device, where the first array lies. */
export function groupColumns(
  values: DeviceFloatArray,
  weights: AnyFloatArray,
  options: Anywhere<GroupColumnsOptions & NamedGroups>,
): OnDevice<GroupColumnsResult>;
/**
 * Weighted means over the rows of a group, column by column; column t is position t from the row's begin:
 *
 *     baseline_t = Σ_rows w·x / (Σ_rows w + ε) over the rows with a kept token at t,   centred = x − baseline
 *
 * A group of one row has baseline 0, and so has a column whose divisor is 0. Equal values are their own baseline, exactly and
 * whatever ε is, unless all weigh 0. Sums in float64, in row order. With a `collective` groups span its workers.
 *
 * @param values per token; [n] as `shape` or `offsets` say
 * @param weights per token, same shape
 * @param options `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function groupColumns(
  values: FloatArray,
  weights: FloatArray,
  options: GroupColumnsOptions & NamedGroups,
): GroupColumnsResult;
export function groupColumns(
  values: AnyFloatArray,
  weights: AnyFloatArray,
  anywhere: GroupColumnsOptions | Anywhere<GroupColumnsOptions>,
): GroupColumnsResult | OnDevice<GroupColumnsResult> {
  const options = anywhere as GroupColumnsOptions;
  const op = "groupColumns";
  const stream = streamOf(op, options, values, weights, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const given = needFloats(op, "values", values, n, meaning);
  const givenWeights = needFloats(op, "weights", weights, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const groups = needGroups(op, options, B);
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 0, { min: 0 });
  const dtype = widestFloat(given, givenWeights);
  const baselines = outputOr(op, "baselines", options.out?.baselines, dtype, n, stream);
  const centred = outputOr(op, "centred", options.out?.centred, dtype, n, stream);
  refuseOverlap(
    op,
    options.out,
    { baselines, centred },
    { values: given, weights: givenWeights, mask, offsets, groupOffsets: options.groupOffsets },
  );
  const { ops } = selectBackend(op, options.backend, stream);
  const zeroTail = options.zeroTail ? 1 : 0;
  const { collective } = options;
  if (collective) {
    const here = { values: asFloat(given, "float64"), weights: asFloat(givenWeights, "float64"), mask, offsets, B, T };
    const all = gatherTokens(op, collective, here, groups);
    const found = { baselines: new Float64Array(all.n), centred: new Float64Array(all.n) };
    ops.groupColumns({ ...all, dtype: DTYPE_CODE.float64, epsilon, zeroTail, ...found });
    baselines.set(found.baselines.subarray(all.begin, all.begin + n));
    centred.set(found.centred.subarray(all.begin, all.begin + n));
    return { baselines, centred };
  }
  ops.groupColumns({
    dtype: DTYPE_CODE[dtype],
    values: asFloat(given, dtype),
    weights: asFloat(givenWeights, dtype),
    mask,
    offsets,
    members: groups.members,
    groupOffsets: groups.offsets,
    n,
    B,
    T,
    G: groups.G,
    epsilon,
    zeroTail,
    baselines,
    centred,
  });
  return { baselines, centred };
}
