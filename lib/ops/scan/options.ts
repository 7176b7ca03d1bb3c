// Options that the scans from right to left share, and their checks.
import { MASK_MODES, type MaskMode, type ScanReturnsArgs } from "../../backend/contract/scan";
import type { BackendOption } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import { asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../../core/dtype";
import { needFlag, needNumber, needWord } from "../../core/options";
import { needRows, type RowLayout, type Rows } from "../../core/rows";
import type { Stream } from "../../core/stream";

/** Options that every scan has. */
export interface ScanOptions extends RowLayout, BackendOption {
  /** Discount of one step, in [0, 1]: a number, or one per token (γ·(1 − done), which ends an episode inside a row). */
  readonly gamma: number | FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * What a masked token is:
   * - `"skip"`: no step at all; the chain runs on undiminished. Output 0.
   * - `"steps"`: a step with reward and value 0; holes decay by γλ, and tokens left of a kept one can have outputs.
   * - `"cut"`: the carry becomes 0 there. Output 0.
   *
   * All three agree for padding behind the last kept token, unless there is a bootstrap value. Default `"skip"`.
   */
  readonly maskMode?: MaskMode;
  /**
   * What a masked token gets with `"skip"` and `"cut"`: 0, or what the scan has there, for which alone its numbers are then
   * read. `"skip"`: the advantage carried over it, as return that plus its value; of `discountedReturns` the return carried
   * over it. `"cut"`: as a kept token, before the carry becomes 0. Default false. Not of `vtrace`.
   */
  readonly transformMasked?: boolean;
  /** One value per row for the state behind its last step (a truncated rollout). Default: 0. */
  readonly bootstrap?: FloatArray;
}

/** What the scans from right to left have in common, checked and in one float type. */
export interface PreparedScan {
  /** The input of that name in the call's float type. */
  readonly input: (name: string) => FloatArray;
  /** The caller's output, or a new array. */
  readonly output: (name: string, given: FloatArray | undefined) => FloatArray;
  readonly refuseOverlap: (outputs: Readonly<Record<string, FloatArray>>) => void;
  /** All arrays of the call by their public names, the outputs among them. */
  readonly held: (outputs: Readonly<Record<string, FloatArray>>) => Readonly<Record<string, ArrayBufferView | null>>;
  /** The fields that each of these ops passes to a backend. */
  readonly common: Omit<ScanReturnsArgs, "reward" | "returns" | "transformMasked">;
  readonly transformMasked: number;
  /** Where it runs, if on a device. */
  readonly stream: Stream | null;
}

export function prepare(op: string, inputs: Readonly<Record<string, unknown>>, options: ScanOptions): PreparedScan {
  const stream = streamOf(op, options, ...Object.values(inputs), options.gamma, options.mask, options.bootstrap);
  const rows: Rows = needRows(op, options);
  const { n, B, T, offsets, meaning } = rows;
  const arrays: Record<string, FloatArray> = {};
  for (const [name, value] of Object.entries(inputs)) arrays[name] = needFloats(op, name, value, n, meaning);
  const perToken = typeof options.gamma !== "number";
  const discount = perToken ? needFloats(op, "gamma", options.gamma, n, meaning) : null;
  const gamma = perToken ? 1 : needNumber(op, "gamma", options.gamma, { min: 0, max: 1 });
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const bootstrap = optionalFloats(op, "bootstrap", options.bootstrap, B, "one per row");
  const maskMode = needWord(op, "maskMode", options.maskMode ?? "skip", MASK_MODES);
  const dtype = widestFloat(...Object.values(arrays), discount, bootstrap);

  return {
    input: (name: string): FloatArray => asFloat(arrays[name]!, dtype),
    output: (name: string, given: FloatArray | undefined): FloatArray => outputOr(op, name, given, dtype, n, stream),
    refuseOverlap: (outputs: Readonly<Record<string, FloatArray>>): void => {
      refuseOverlap(op, outputs, { ...arrays, gamma: discount, mask, bootstrap, offsets });
    },
    held: (outputs) => ({ ...arrays, gamma: discount, mask, bootstrap, offsets, ...outputs }),
    common: {
      dtype: DTYPE_CODE[dtype],
      discount: discount && asFloat(discount, dtype),
      mask,
      bootstrap: bootstrap && asFloat(bootstrap, dtype),
      offsets,
      n,
      B,
      T,
      gamma,
      maskMode,
    },
    transformMasked: needFlag(op, "transformMasked", options.transformMasked),
    stream,
  };
}
