// Step weights applied to the tokens of their spans.
import { type ModulateOps, type ModulateSpansArgs, type Scope, SCOPES } from "../../backend/contract/modulate";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import {
  float64Or,
  needFloat64,
  needFloats,
  needInt32,
  optionalMask,
  outputOr,
  refuseOverlap,
} from "../../core/arrays";
import type { Collective, CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { optionError, rangeError, SurprisalError } from "../../core/errors";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherRowPartials } from "../../core/row-partials";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";
import { deviceSpans, type DeviceSpanList, spanMemory } from "../delim/span-values";

takesDeviceArrays("modulateSpans");

export type { Scope } from "../../backend/contract/modulate";

export interface ModulateSpansOptions extends RowLayout, BackendOption, CollectiveOption {
  /** Factor of each span; [S], from `stepWeights`. */
  readonly scales: Float64Array;
  /** Clarity of each span; [S], from `stepWeights`. */
  readonly clarities: Float64Array;
  /** Weight of the next step's clarity, added to the tokens of a step. Any finite number. Default 0.1. */
  readonly zeta?: number;
  /**
   * Where the step mean is subtracted:
   * - `"mask"`: the tokens that `mask` keeps.
   * - `"segments"`: tokens inside any span.
   * - `"all"`: every element, padding included.
   *
   * Default `"mask"`.
   */
  readonly scope?: Scope;
  /** 1 = a token of the response. Needed by scope `"mask"`, else not read. */
  readonly mask?: Uint8Array;
  /** Reuse memory instead of allocating; may be the very array of the input. */
  readonly out?: { readonly advantages?: FloatArray };
}

export interface ModulatedSpans {
  /** In the input's float type: computed in float64, rounded once. */
  readonly advantages: FloatArray;
  /** What was subtracted: the mean over spans of the modulated advantage at a span's first token. 0 without spans. */
  readonly mean: number;
}

/** Spans sorted by row, none empty, each inside its row. */
function needSpans(op: string, value: unknown, rows: Rows): Int32Array {
  const length = ArrayBuffer.isView(value) && "length" in value ? Number(value.length) : 0;
  const spans = needInt32(op, "spans", value, length, "three per span");
  if (length % 3 !== 0)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: spans has ${length} elements, expected three per span: row, begin, finish`,
      {
        op,
        name: "spans",
        got: length,
        want: "three per span",
      },
    );
  for (let s = 0, previous = 0; 3 * s < length; ++s) {
    const row = spans[3 * s]!;
    const begin = spans[3 * s + 1]!;
    const finish = spans[3 * s + 2]!;
    if (row < 0 || row >= rows.B) throw rangeError(op, `spans[${s}].row`, row, `0..${rows.B - 1}`);
    if (row < previous) throw rangeError(op, `spans[${s}].row`, row, `>= ${previous}: spans sorted by row`);
    const tokens = rowEnd(rows, row) - rowBegin(rows, row);
    if (begin < 0 || finish <= begin || finish > tokens)
      throw rangeError(op, `spans[${s}]`, [begin, finish], `a range of 1 or more tokens in a row of ${tokens}`);
    previous = row;
  }
  return spans;
}

function spansCall(op: string, advantages: FloatArray, spans: Int32Array, options: ModulateSpansOptions) {
  const stream = streamOf(op, options, advantages, spanMemory(spans), options.mask, options.scales, options.clarities);
  const rows = needRows(op, options);
  const { n, B, T, offsets, meaning } = rows;
  const input = needFloats(op, "advantages", advantages, n, meaning);
  const dtype = floatDType(input);
  const {
    spans: checked,
    S,
    count,
  } = deviceSpans(op, spans) ?? { spans: needSpans(op, spans, rows), S: spans.length / 3, count: null };
  const scales = needFloat64(op, "scales", options.scales, S, "one per span");
  const clarities = needFloat64(op, "clarities", options.clarities, S, "one per span");
  const zeta = needNumber(op, "zeta", options.zeta ?? 0.1);
  const scopeName = options.scope ?? "mask";
  const scope = needWord(op, "scope", scopeName, SCOPES);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  if (scopeName === "mask" && !mask)
    throw optionError(op, "mask", options.mask, `the response mask that scope "mask" subtracts under`);
  const modulated = outputOr(op, "advantages", options.out?.advantages, dtype, n, stream);
  const inPlace = modulated.buffer === input.buffer && modulated.byteOffset === input.byteOffset;
  refuseOverlap(
    op,
    options.out,
    { advantages: modulated },
    { advantages: inPlace ? null : input, mask, offsets, spans: checked, scales, clarities },
  );
  const mean = float64Or(op, "", undefined, 1, stream);
  const args = {
    dtype: DTYPE_CODE[dtype],
    advantages: input,
    mask,
    offsets,
    spans: checked,
    scales,
    clarities,
    n,
    B,
    T,
    S,
    zeta,
    scope,
    mean,
    count,
    modulated,
  };
  return {
    stream,
    args,
    arrays: { advantages: input, mask, offsets, spans: checked, scales, clarities, mean, modulated },
  };
}

/** As modulateSpans, in the name of the public function `op`. */
export function applyToSpans(
  op: string,
  advantages: FloatArray,
  spans: Int32Array,
  options: ModulateSpansOptions,
): ModulatedSpans {
  const { stream, args } = spansCall(op, advantages, spans, options);
  const { ops } = selectBackend(op, options.backend, stream);
  if (options.collective) return modulateTogether(op, options.collective, ops, args);
  ops.modulateSpans(args);
  return { advantages: args.modulated, mean: stream ? (args.mean as unknown as number) : args.mean[0]! };
}

/** Which elements the mean is subtracted from. */
function inScope({ scope, mask, spans, S, n, ...rows }: ModulateSpansArgs): Uint8Array {
  if (SCOPES[scope] === "mask") return mask!;
  if (SCOPES[scope] === "all") return new Uint8Array(n).fill(1);
  const inside = new Uint8Array(n);
  for (let s = 0; s < S; ++s) {
    const at = rowBegin(rows, spans[3 * s]!);
    inside.fill(1, at + spans[3 * s + 1]!, at + spans[3 * s + 2]!);
  }
  return inside;
}

/** As the op, with the mean over the spans of all workers. The backend does every sum that it does for one worker. */
function modulateTogether(op: string, collective: Collective, ops: ModulateOps, a: ModulateSpansArgs): ModulatedSpans {
  const { n, S, spans, modulated, mean } = a;
  const unshifted = new Float64Array(n);
  const dtype = DTYPE_CODE.float64;
  // A mask that keeps nothing: the mean of the spans here is subtracted nowhere.
  const nowhere = { scope: SCOPES.indexOf("mask"), mask: new Uint8Array(n) };
  ops.modulateSpans({ ...a, ...nowhere, dtype, advantages: Float64Array.from(a.advantages), modulated: unshifted });
  const heads = Float64Array.from({ length: S }, (_, s) => unshifted[rowBegin(a, spans[3 * s]!) + spans[3 * s + 1]!]!);
  const all = gatherRowPartials(op, collective, heads).partials;
  // The heads of all workers as spans of one token each, left as they are: what is wanted is their mean.
  const count = all.length;
  const unit = new Float64Array(count).fill(1);
  ops.modulateSpans({
    ...nowhere,
    dtype,
    advantages: all,
    mask: new Uint8Array(count),
    offsets: null,
    spans: Int32Array.from({ length: 3 * count }, (_, i) => [i / 3, 0, 1][i % 3]!),
    scales: unit,
    clarities: unit,
    n: count,
    B: count,
    T: 1,
    S: count,
    zeta: 0,
    modulated: new Float64Array(count),
    mean,
    count: null,
  });
  const shift = mean[0]!;
  const subtract = inScope(a);
  for (let i = 0; i < n; ++i) modulated[i] = count > 0 && subtract[i] !== 0 ? unshifted[i]! - shift : unshifted[i]!;
  return { advantages: modulated, mean: shift };
}

/** The same on a device, where the advantages lie. Spans that point outside are reported at the next read. */
export function modulateSpans(
  advantages: DeviceFloatArray,
  spans: Int32Array | DeviceSpanList,
  options: Anywhere<ModulateSpansOptions>,
): OnDevice<ModulatedSpans>;
/**
 * Modulates advantages step by step. For the spans of a row in the given order, over the tokens of span s:
 *
 *     a ← a·scale[s];   a ← a + ζ·clarity[s+1]   if span s+1 is of the same row
 *     mean = average over s of the modulated advantage at the first token of span s
 *     a ← a − mean   where `scope` says
 *
 * Overlapping spans compound. Tokens outside every span and outside the scope keep their value. Without any span the input
 * comes back unchanged, mean 0.
 *
 * @param advantages per token; [n] as `shape` or `offsets` say
 * @param spans (row, begin, finish) of each step: within the row, end exclusive, sorted by row, in the order of the steps
 * @returns the modulated advantages and the mean
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _BUFFER, or _RANGE for spans and offsets that point outside
 * @see arXiv 2509.09265
 */
export function modulateSpans(advantages: FloatArray, spans: Int32Array, options: ModulateSpansOptions): ModulatedSpans;
export function modulateSpans(
  advantages: AnyFloatArray,
  spans: Int32Array | DeviceSpanList,
  anywhere: ModulateSpansOptions | Anywhere<ModulateSpansOptions>,
): ModulatedSpans | OnDevice<ModulatedSpans> {
  return applyToSpans("modulateSpans", advantages as FloatArray, spans as Int32Array, anywhere as ModulateSpansOptions);
}

/**
 * `modulateSpans` off the event loop, without a `collective`. The arrays must not be touched until it resolves.
 */
export async function modulateSpansAsync(
  advantages: FloatArray,
  spans: Int32Array,
  options: Omit<ModulateSpansOptions, "collective"> & AsyncOption,
): Promise<ModulatedSpans> {
  const { args, arrays } = spansCall("modulateSpansAsync", advantages, spans, options);
  await runWhole("modulateSpansAsync", "modulateSpans", args, arrays, options);
  return { advantages: args.modulated, mean: args.mean[0]! };
}
