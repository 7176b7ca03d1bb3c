// spanMeans and spanMask: what lies inside spans. Spans may come from findSpans or from anywhere else.
import { type BackendOption, selectBackend } from "../../backend/select";
import { needFloat64, needFloats, needInt32, optionalMask, refuseOverlap } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray, floatDType, isFloatArray, typedArrayName } from "../../core/dtype";
import { argumentError, SurprisalError } from "../../core/errors";
import { rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/rows";
import { needSpanRows } from "./rows";

/** What findSpans answers, or a flat [S,3] array of (row, begin, finish), begin and finish within the row. In any order. */
export type SpanList = { readonly spans: Int32Array } | Int32Array;

/** Where the rows lie: of `spanMeans`, without `shape` and `offsets` the values are one row. */
export interface SpanMeansOptions extends RowLayout, BackendOption {
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly means?: Float64Array };
}

export interface SpanMaskOptions extends RowLayout, BackendOption {
  readonly out?: { readonly mask?: Uint8Array };
}

function needSpans(op: string, value: SpanList, rows: Rows): { spans: Int32Array; S: number } {
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
    const want = length === undefined ? `a row in 0..${rows.B - 1}` : `0 <= begin <= finish <= ${length}, the row's length`;
    throw new SurprisalError("ERR_SURPRISAL_RANGE", `${op}: span ${s} is (row ${b}, ${begin}, ${finish}), expected ${want}`, {
      op,
      name: "spans",
      got: [b, begin, finish],
      want,
    });
  }
  return { spans, S };
}

/**
 * The mean of a per-token value over each span: a step's entropy, its mean reward, its mean log-prob.
 *
 * @param values per token, [n] as `shape` or `offsets` say; values outside spans are not read
 * @param spans of findSpans, or [S,3]
 * @returns [S], float64, summed in token order: the same bits on every backend. An empty span gives NaN.
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a span outside its row, _SHAPE, _DTYPE, _OPTION or _BUFFER
 */
export function spanMeans(values: FloatArray, spans: SpanList, options: SpanMeansOptions = {}): Float64Array {
  const op = "spanMeans";
  if (!isFloatArray(values)) throw argumentError("ERR_SURPRISAL_DTYPE", op, "values", values, "a Float32Array or a Float64Array");
  const rows = needSpanRows(op, options, values.length);
  const { n, B, T, offsets } = rows;
  needFloats(op, "values", values, n, rows.meaning);
  const list = needSpans(op, spans, rows);
  const given = options.out?.means;
  const means =
    given === undefined ? new Float64Array(list.S) : needFloat64(op, "out.means", given, list.S, "one per span");
  refuseOverlap(op, { means }, { values, spans: list.spans, offsets });
  const dtype = DTYPE_CODE[floatDType(values)];
  selectBackend(op, options.backend).ops.delimMeans({ dtype, values, offsets, ...list, n, B, T, means });
  return means;
}

/**
 * Which tokens lie inside at least one span.
 *
 * @param spans of findSpans, or [S,3]
 * @returns [n] as `shape` or `offsets` say: 1 inside, 0 outside
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a span outside its row, _SHAPE, _DTYPE, _OPTION or _BUFFER
 */
export function spanMask(spans: SpanList, options: SpanMaskOptions): Uint8Array {
  const op = "spanMask";
  const rows = needSpanRows(op, options);
  const { n, B, T, offsets } = rows;
  const list = needSpans(op, spans, rows);
  const mask = optionalMask(op, "out.mask", options.out?.mask, n, rows.meaning) ?? new Uint8Array(n);
  refuseOverlap(op, { mask }, { spans: list.spans, offsets });
  selectBackend(op, options.backend).ops.delimMask({ offsets, ...list, n, B, T, mask });
  return mask;
}
