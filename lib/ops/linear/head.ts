// What both functions of a linear head take: hidden states, the head, targets, rows to leave out, the map from logits to z.
import { LINEAR_SUMS, type LinearSums } from "../../backend/contract/linear";
import type { BackendOption } from "../../backend/select";
import { needIds, needLength, optionalMask } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { DTYPE_CODE, type DTypeCode, type FloatDType, type WideLogitArray } from "../../core/dtype";
import { dtypeError, shapeError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { bitsOf, needSize, readTensor, type TensorDType, type TensorView } from "../../core/tensor";
import {
  checkTargets,
  keptRows,
  type LogitMapArgs,
  type LogitMapOptions,
  needLogitMap,
  needShard,
  type ShardOptions,
} from "../logprob/logit-rows";

export type HeadDType = TensorDType;
/** float32 or float64 numbers, or half types: bits in a Uint16Array (say which in `dtype`), or a Float16Array. */
export type HeadView = TensorView;
/** A view, or a tensor around one: `{data, dims, type}` as ONNX Runtime has it, or `{data, shape, dtype}`. */
export type HeadTensor =
  | HeadView
  | { readonly data: HeadView; readonly dims: readonly number[]; readonly type: string }
  | { readonly data: HeadView; readonly shape: readonly number[]; readonly dtype: string };

/** The kind of array that a gradient to it is. */
export type HeadViewOf<H extends HeadTensor> = H extends { readonly data: infer View extends HeadView }
  ? View
  : Extract<H, HeadView>;

/** The same on a device. Of more than one dimension the last is that of a row. */
export type DeviceHeadTensor = DeviceArray<HeadDType>;

export interface LinearHeadOptions extends LogitMapOptions, BackendOption {
  /** Of hidden: [rows, dim]. Default: that of the tensor, all dimensions but the last being rows. */
  readonly shape?: readonly [rows: number, dim: number];
  /** Ids that count: the first rows of weight and bias; what follows is padding, never read. Default: all rows of weight. */
  readonly vocab?: number;
  /** Type of hidden, weight and bias alike. Needed for a Uint16Array, which holds the bits of either half type. */
  readonly dtype?: HeadDType;
  /** Added to the logits, one a row of weight; −∞ masks an id. Default: none. */
  readonly bias?: HeadTensor;
  /** One flag a row; a row with 0 is not read: its results are 0, and it adds to no gradient. Default: all 1. */
  readonly mask?: Uint8Array;
  /** A row whose target is this id is left out as well; trainers use −100. Default: none. */
  readonly ignoreIndex?: number;
  /**
   * Rows in work at a time, which decides the memory beside the arguments (docs/ops/linear.md) and changes no bit of the
   * results. Default: the backend's own, 16 (js), 288 (cpu; 264 where sums are float64) or 2048 (cuda).
   */
  readonly chunkRows?: number;
  /**
   * What products are formed and added in where hidden is narrower than float64. "float32": 32 products at a time in float32, these
   * sums with compensation (cpu, wasm) or in float64 (cuda); `js` takes float64 all the same. "float64": one rounding, on `cpu`,
   * `wasm` and `js`. "bfloat16x3": the same as "float32", but `cuda` may take float32 numbers to tensor cores as sums of two bfloat16 numbers,
   * ten times as far off at worst. Forward and backward take the same. Default "float32".
   */
  readonly sums?: LinearSums;
}

export interface CheckedHead extends LogitMapArgs {
  /** What the caller gave as hidden, without its tensor. */
  readonly view: HeadView;
  readonly dtype: DTypeCode;
  /** Type of results and sums. */
  readonly wide: FloatDType;
  readonly hidden: WideLogitArray;
  readonly weight: WideLogitArray;
  readonly bias: WideLogitArray | null;
  readonly targets: Int32Array | null;
  readonly mask: Uint8Array | null;
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly padded: number;
  readonly chunkRows: number;
  readonly sums: number;
}

export const HEAD_DTYPES = ["float32", "float16", "bfloat16", "float64"] as const;
const MAX_IDS = 2 ** 31 - 1;

/** N and D: of the option, else of the tensor. */
function needHiddenShape(
  op: string,
  shape: unknown,
  own: { rows: number; width: number } | undefined,
): [number, number] {
  const sizes: unknown = shape ?? (own && [own.rows, own.width]);
  if (!Array.isArray(sizes) || sizes.length !== 2) throw shapeError(op, "shape", sizes, "[rows, dim]");
  const N = needSize(op, "shape[0]", sizes[0]);
  const D = needSize(op, "shape[1]", sizes[1]);
  if (D === 0) throw shapeError(op, "shape[1]", D, "a dimension of 1 or more");
  return [N, D];
}

/** Rows of weight, padding included. */
function needHeadRows(op: string, length: number, D: number, own: { rows: number; width: number } | undefined): number {
  if (own && own.width !== D) throw shapeError(op, "weight.shape", own.width, `rows of ${D}, as hidden has them`);
  const rows = own?.rows ?? length / D;
  if (!Number.isInteger(rows)) throw shapeError(op, "weight.length", length, `a multiple of ${D}, the width of hidden`);
  return needSize(op, "rows of weight", rows, MAX_IDS);
}

export function needHead(
  op: string,
  hidden: unknown,
  weight: unknown,
  targets: unknown,
  options: LinearHeadOptions,
  shard: ShardOptions = {},
): CheckedHead {
  const states = readTensor<HeadView>(op, "hidden", hidden, options.dtype, HEAD_DTYPES);
  const head = readTensor<HeadView>(op, "weight", weight, options.dtype, HEAD_DTYPES);
  if (head.dtype !== states.dtype)
    throw dtypeError(op, "weight", head.view, `${states.dtype}, as hidden is, not ${head.dtype}`);
  const [N, D] = needHiddenShape(op, options.shape, states.own);
  needLength(op, "hidden", states.view, needSize(op, "rows * dim", N * D), "rows * dim");
  const padded = needHeadRows(op, head.view.length, D, head.own);
  needLength(op, "weight", head.view, padded * D, "rows of weight * dim");
  const V = needSize(op, "vocab", options.vocab ?? padded, padded);
  const given = optionalMask(op, "mask", options.mask, N, "one a row");
  const ids = targets == null ? null : needIds(op, "targets", targets, N, "one a row");
  const mask = keptRows(op, given, options.ignoreIndex, ids, N, 1);
  checkTargets(op, { targets: ids, mask, N, K: 1 }, needShard(op, V, shard).vocabSize);
  const { temperature, scale, softcap } = needLogitMap(op, options);
  return {
    temperature,
    scale,
    softcap,
    view: states.view,
    dtype: DTYPE_CODE[states.dtype],
    wide: states.dtype === "float64" ? "float64" : "float32",
    hidden: bitsOf(states.view),
    weight: bitsOf(head.view),
    bias: needBias(op, options, states.dtype, padded),
    targets: ids,
    mask,
    N,
    D,
    V,
    padded,
    chunkRows:
      options.chunkRows === undefined
        ? 0
        : needNumber(op, "chunkRows", options.chunkRows, { min: 1, max: 2 ** 31 - 1, integer: true }),
    sums: needWord(op, "sums", options.sums ?? "float32", LINEAR_SUMS),
  };
}

function needBias(op: string, options: LinearHeadOptions, dtype: HeadDType, rows: number): WideLogitArray | null {
  if (options.bias === undefined) return null;
  const bias = readTensor<HeadView>(op, "bias", options.bias, options.dtype, HEAD_DTYPES);
  if (bias.dtype !== dtype) throw dtypeError(op, "bias", bias.view, `${dtype}, as hidden is, not ${bias.dtype}`);
  needLength(op, "bias", bias.view, rows, "one a row of weight");
  return bitsOf(bias.view);
}
