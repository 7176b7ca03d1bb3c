// spanMeans and spanMask: what lies inside spans. Spans may come from findSpans or from anywhere else.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { flagsOr, float64Or, lengthOf, needFloats, needInt32, refuseOverlap } from "../../core/arrays";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray, typedArrayName } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import { SurprisalError } from "../../core/errors";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";
import { DeviceSpans } from "./device-spans";
import { needSpanRows } from "./span-rows";

takesDeviceArrays("spanMeans", "spanMask");

/** What findSpans returns, or a flat [S,3] array of (row, begin, finish), begin and finish within the row. In any order. */
export type SpanList = { readonly spans: Int32Array } | Int32Array;

/** Where the rows lie: of `spanMeans`, without `shape` and `offsets` the values are one row. */
export interface SpanMeansOptions extends RowLayout, BackendOption {
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly means?: Float64Array };
}

export interface SpanMaskOptions extends RowLayout, BackendOption {
  readonly out?: { readonly mask?: Uint8Array };
}

/** Spans on a device: those of `findSpans`, or [S,3] that are all there. */
export type DeviceSpanList = DeviceSpans | DeviceArray<"int32">;

/** Spans as backends take them. `count`: how many of the S there are, where a device alone knows; null = all. */
interface CheckedSpans {
  readonly spans: Int32Array;
  readonly S: number;
  readonly count: BigInt64Array | null;
}

/** What a kernel looks at itself. */
export function deviceSpans(op: string, value: unknown): CheckedSpans | null {
  const count = value instanceof DeviceSpans ? value.count : null;
  const spans = value instanceof DeviceSpans ? value.spans : value;
  if (!DeviceArray.is(spans)) return null;
  const S = Math.floor(spans.length / 3);
  count?.handle(op, "spans");
  return {
    spans: needInt32(op, "spans", spans, 3 * S, "three numbers a span: row, begin, finish"),
    S,
    count: count as BigInt64Array | null,
  };
}

/** The memory of spans, to find out where they lie. */
export function spanMemory(value: unknown): unknown {
  return value instanceof DeviceSpans ? value.spans : value;
}

/** Spans on the host, checked: each inside its row. */
export function needSpans(op: string, value: SpanList, rows: Rows): CheckedSpans {
  const there = deviceSpans(op, value);
  if (there) return there;
  const given: unknown = value;
  const flat = typeof given === "object" && given !== null && "spans" in given ? given.spans : given;
  const S = typedArrayName(flat) === "Int32Array" ? Math.floor((flat as Int32Array).length / 3) : 0;
  const spans = needInt32(op, "spans", flat, 3 * S, "three numbers a span: row, begin, finish");
  for (let s = 0; s < S; ++s) {
    const b = spans[3 * s]!;
    const begin = spans[3 * s + 1]!;
    const finish = spans[3 * s + 2]!;
    const length = b >= 0 && b < rows.B ? rowEnd(rows, b) - rowBegin(rows, b) : undefined;
    if (length !== undefined && begin >= 0 && begin <= finish && finish <= length) continue;
    const want =
      length === undefined ? `a row in 0..${rows.B - 1}` : `0 <= begin <= finish <= ${length}, the row's length`;
    throw new SurprisalError(
      "ERR_SURPRISAL_RANGE",
      `${op}: span ${s} is (row ${b}, ${begin}, ${finish}), expected ${want}`,
      {
        op,
        name: "spans",
        got: [b, begin, finish],
        want,
      },
    );
  }
  return { spans, S, count: null };
}

/** The same on a device, where the values lie: [capacity], 0 behind the last span. */
export function spanMeans(
  values: DeviceFloatArray,
  spans: SpanList | DeviceSpanList,
  options?: Anywhere<SpanMeansOptions>,
): DeviceArray<"float64">;
/**
 * The mean of a per-token value over each span: a step's entropy, its mean reward, its mean log-prob.
 *
 * @param values per token, [n] as `shape` or `offsets` say; values outside spans are not read
 * @param spans of findSpans, or [S,3]
 * @returns [S], float64, summed in token order: the same bits on every backend. An empty span gives NaN.
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a span outside its row, _SHAPE, _DTYPE, _OPTION or _BUFFER
 */
export function spanMeans(values: FloatArray, spans: SpanList, options?: SpanMeansOptions): Float64Array;
export function spanMeans(
  values: AnyFloatArray,
  spans: SpanList | DeviceSpanList,
  anywhere: SpanMeansOptions | Anywhere<SpanMeansOptions> = {},
): Float64Array | DeviceArray<"float64"> {
  return meansOf("spanMeans", values as FloatArray, spans as SpanList, anywhere as SpanMeansOptions);
}

/** As spanMeans, in the name of the public function `op`. */
export function meansOf(op: string, values: FloatArray, spans: SpanList, options: SpanMeansOptions): Float64Array {
  const stream = streamOf(op, options, values, spanMemory(spans));
  const floats = needFloats(op, "values", values, lengthOf(values), "its own length");
  const rows = needSpanRows(op, options, floats.length);
  const { n, B, T, offsets } = rows;
  needFloats(op, "values", values, n, rows.meaning);
  const list = needSpans(op, spans, rows);
  const means = float64Or(op, "means", options.out?.means, list.S, stream);
  refuseOverlap(op, options.out, { means }, { values, spans: list.spans, offsets });
  const dtype = DTYPE_CODE[floatDType(values)];
  selectBackend(op, options.backend, stream).ops.delimMeans({ dtype, values, offsets, ...list, n, B, T, means });
  return means;
}

/** The same on a device, where the spans lie. */
export function spanMask(spans: DeviceSpanList, options: Anywhere<SpanMaskOptions>): DeviceArray<"uint8">;
/**
 * Which tokens lie inside at least one span.
 *
 * @param spans of findSpans, or [S,3]
 * @returns [n] as `shape` or `offsets` say: 1 inside, 0 outside
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a span outside its row, _SHAPE, _DTYPE, _OPTION or _BUFFER
 */
export function spanMask(spans: SpanList, options: SpanMaskOptions): Uint8Array;
export function spanMask(
  given: SpanList | DeviceSpanList,
  anywhere: SpanMaskOptions | Anywhere<SpanMaskOptions>,
): Uint8Array | DeviceArray<"uint8"> {
  const op = "spanMask";
  const options = anywhere as SpanMaskOptions;
  const spans = given as SpanList;
  const stream = streamOf(op, options, spanMemory(spans));
  const rows = needSpanRows(op, options);
  const { n, B, T, offsets } = rows;
  const list = needSpans(op, spans, rows);
  const mask = flagsOr(op, "mask", options.out?.mask, n, stream);
  refuseOverlap(op, options.out, { mask }, { spans: list.spans, offsets });
  selectBackend(op, options.backend, stream).ops.delimMask({ offsets, ...list, n, B, T, mask });
  return mask;
}
