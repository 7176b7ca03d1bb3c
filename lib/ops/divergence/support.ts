// The ids that a divergence looks at, where it does not look at the whole vocabulary.
import { OUTSIDES, type Outside } from "../../backend/contract/divergence";
import { needIds, type TokenIds } from "../../core/arrays";
import { DeviceArray } from "../../core/device-array";
import { optionError, rangeError, shapeError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";

export type { Outside } from "../../backend/contract/divergence";

export interface SupportOptions {
  /** Distinct ids, [rows, K]; `topLogits` finds those of the largest logits. Default: the whole vocabulary. */
  readonly support?: TokenIds;
  /**
   * What becomes of the other ids: `"dropped"`, both distributions are renormalised over the support; `"pooled"`, they are one
   * more outcome together. Needed with `support`.
   */
  readonly outside?: Outside;
  /** The pool's log-probability is ln(−expm1(min(L, −tailFloor))), L that of the support. In [1e-12, 0.5]. Default 1e-7. */
  readonly tailFloor?: number;
}

export interface CheckedSupport {
  readonly support: Int32Array | null;
  readonly K: number;
  readonly outside: number;
  readonly tailFloor: number;
}

/** Every id of a row that is read lies in the vocabulary and is there once. */
function checkIds(op: string, ids: Int32Array, K: number, N: number, V: number, mask: Uint8Array | null): void {
  const lastRow = new Int32Array(V).fill(-1);
  for (let n = 0; n < N; ++n) {
    if (mask && mask[n] === 0) continue;
    for (let i = n * K; i < (n + 1) * K; ++i) {
      const id = ids[i]!;
      if (id < 0 || id >= V) throw rangeError(op, `support[${i}]`, id, `0..${V - 1} (vocab)`);
      if (lastRow[id] === n) throw rangeError(op, `support[${i}]`, id, "an id that its row does not have yet");
      lastRow[id] = n;
    }
  }
}

export function needSupport(
  op: string,
  options: SupportOptions,
  N: number,
  V: number,
  mask: Uint8Array | null,
): CheckedSupport {
  const tailFloor = needNumber(op, "tailFloor", options.tailFloor ?? 1e-7, { min: 1e-12, max: 0.5 });
  if (options.support == null) {
    if (options.outside !== undefined) throw optionError(op, "outside", options.outside, "nothing without a support");
    return { support: null, K: 0, outside: 0, tailFloor };
  }
  if (options.outside === undefined)
    throw optionError(op, "outside", undefined, `"dropped" or "pooled" with a support`);
  const outside = needWord(op, "outside", options.outside, OUTSIDES);
  const support = needIds(op, "support", options.support);
  const K = N === 0 ? 1 : support.length / N;
  if (!Number.isInteger(K) || K < 1 || (N > 0 && K > V) || N * K !== support.length)
    throw shapeError(op, "support.length", support.length, `K ids for each of ${N} rows, K in 1..${V}`);
  // What lies on a device is left to the kernel.
  if (!DeviceArray.is(support) && !DeviceArray.is(mask)) checkIds(op, support, K, N, V, mask);
  return N === 0 ? { support: null, K: 0, outside: 0, tailFloor } : { support, K, outside, tailFloor };
}
