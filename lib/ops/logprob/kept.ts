// Log-probs over the ids that a sampler kept: what top-k and top-p left of the vocabulary, recorded row by row.
import { needsHostArrays } from "../../core/device-ops";
import { needIds, optionalMask, type TokenIds } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { argumentError, SurprisalError } from "../../core/errors";
import { fromHalfBits, toHalfBits } from "../../core/half";
import { checkOffsets } from "../../core/row-layout";
import type { BackendOption } from "../../backend/select";
import { logprobBackward } from "./backward";
import { logprob } from "./forward";
import type { LogitMapOptions } from "./logit-rows";
import {
  type CheckedLogits,
  type LogitDType,
  type LogitLayout,
  type Logits,
  type LogitView,
  type LogitViewOf,
  needGradient,
  needLogits,
} from "./logits";
import type { LogprobResult } from "./results";

needsHostArrays("keptLogprob", "the kept logits are gathered in host memory");
needsHostArrays("keptLogprobBackward", "the gradient is spread in host memory");

/** The ids that a sampler kept of each row, one row behind the other; the target counts as kept, listed or not. */
export interface KeptIds {
  /** Ids, distinct within a row; 0 <= id < vocab. */
  readonly ids: TokenIds;
  /** Row b's are ids[offsets[b]] … ids[offsets[b + 1] − 1], [rows + 1]. A row without any has its target alone. */
  readonly offsets: Int32Array;
}

/** Without softcap: an id that was not kept is a logit of −∞, which a softcap would make finite. */
export interface KeptLogprobOptions extends LogitLayout, Omit<LogitMapOptions, "softcap">, BackendOption {
  /** One flag a row: a row with 0 is not read, nor are its ids; its results are 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** False: no entropies, and no pass over the whole vocabulary. Default true. */
  readonly entropies?: boolean;
}

export interface KeptLogprobResult {
  /** z[target] − ln Σ over kept ids of exp z, nats, [rows]. */
  readonly logProbs: Float32Array;
  /** Of the whole vocabulary, nats, [rows]; null with `entropies: false`. */
  readonly entropies: Float32Array | null;
  /** What the gradient needs: of the kept ids, and of all. */
  readonly state: { readonly kept: LogprobResult; readonly whole: LogprobResult | null };
}

export interface KeptLogprobBackwardOptions extends KeptLogprobOptions {
  /** d loss / d logProbs, [rows]. */
  readonly gradLogProbs?: FloatArray;
  /** d loss / d entropies, [rows]. */
  readonly gradEntropies?: FloatArray;
  /** Memory for the gradient, of the logits' kind and length. Default: new. */
  readonly out?: LogitView;
}

/** The kept columns of each row, its target first, side by side. */
interface Compact {
  readonly logits: CheckedLogits;
  /** The same as the other functions take them. */
  readonly layout: { readonly shape: readonly [number, number]; readonly dtype: LogitDType };
  readonly values: Float32Array | Uint16Array;
  /** The id of each column, −1 where there is none, [rows, width]. */
  readonly columns: Int32Array;
}

function compactRows(
  op: string,
  given: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLogprobOptions,
): Compact {
  const logits = needLogits(op, given, options);
  const { N, V, stride } = logits;
  const ids = needIds(op, "kept.ids", kept.ids);
  const offsets: unknown = kept.offsets;
  if (!(offsets instanceof Int32Array) || offsets.length !== N + 1)
    throw argumentError(
      "ERR_SURPRISAL_SHAPE",
      op,
      "kept.offsets",
      offsets,
      `an Int32Array of ${N + 1}, one more than rows`,
    );
  checkOffsets(op, "kept.offsets", offsets);
  if (offsets[N] !== ids.length)
    throw argumentError(
      "ERR_SURPRISAL_RANGE",
      op,
      "kept.offsets",
      offsets[N],
      `${ids.length} at the end, as kept.ids has`,
    );
  const own = needIds(op, "targets", targets, N, "one a row");
  const mask = optionalMask(op, "mask", options.mask, N, "one a row");
  const width = 1 + offsets.subarray(1).reduce((most, end, b) => Math.max(most, end - offsets[b]!), 0);
  const columns = new Int32Array(N * width).fill(-1);
  const dtype = (["float32", "float16", "bfloat16"] as const).find((name) => DTYPE_CODE[name] === logits.dtype)!;
  const bits = logits.logits;
  const values = dtype === "float32" ? new Float32Array(N * width) : new Uint16Array(N * width);
  values.fill(dtype === "float32" ? -Infinity : toHalfBits([-Infinity], dtype)[0]!);
  const seen = new Int32Array(V).fill(-1);
  for (let b = 0; b < N; ++b) {
    if (mask && mask[b] === 0) continue;
    let column = b * width;
    const take = (id: number, name: string): void => {
      if (id < 0 || id >= V)
        throw argumentError("ERR_SURPRISAL_RANGE", op, name, id, `an id of the vocabulary, 0..${V - 1}`);
      seen[id] = b;
      columns[column] = id;
      values[column++] = bits[b * stride + id]!;
    };
    take(own[b]!, `targets[${b}]`);
    for (let k: number = offsets[b]!; k < offsets[b + 1]!; ++k) {
      const id = ids[k]!;
      if (seen[id] !== b) take(id, `kept.ids[${k}]`);
      else if (id !== own[b]!)
        throw argumentError("ERR_SURPRISAL_RANGE", op, `kept.ids[${k}]`, id, "an id that is not in its row already");
    }
  }
  return { logits, layout: { shape: [N, width], dtype }, values, columns };
}

/** All targets are column 0. */
const firsts = ({ layout }: Compact): Int32Array => new Int32Array(layout.shape[0]);

/**
 * Log-probs under the distribution that was sampled from: over the ids that top-k and top-p kept, with the entropy of the whole
 * vocabulary beside them. A ratio of the policy's whole softmax to a sampler's nucleus is biased; this one is not.
 *
 *     logprob = z[target] − ln Σ_{j in kept ∪ {target}} exp z[j],      z = scale·x / temperature
 *
 * Ids that were not kept get no gradient from log-probs. The kept columns are gathered, so that memory is rows · the most ids of a row.
 *
 * @param logits float32, float16 or bfloat16, [rows, vocab]
 * @param targets one id a row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (an id) or _BUFFER, naming the argument
 */
export function keptLogprob(
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLogprobOptions = {},
): KeptLogprobResult {
  return evaluateKept("keptLogprob", logits, targets, kept, options);
}

/** As keptLogprob, in the name of the public function `op`. */
export function evaluateKept(
  op: string,
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLogprobOptions,
): KeptLogprobResult {
  const compact = compactRows(op, logits, targets, kept, options);
  const { temperature, scale, mask, backend } = options;
  const of = logprob(compact.values, firsts(compact), { ...compact.layout, temperature, scale, mask, backend });
  const { entropies: wanted = true, ...all } = options;
  const whole = wanted ? logprob(logits, null, all) : null;
  return { logProbs: of.logProbs, entropies: whole && whole.entropies, state: { kept: of, whole } };
}

/**
 * The gradient of `keptLogprob`: d / d z[j] = a·([j = target] − p_kept[j]) for kept ids, and of the entropy for all.
 *
 * @param state that of the result, from the same logits, targets, ids and options
 * @returns the gradient, of the logits' kind and length: `out` if given
 * @throws SurprisalError as `keptLogprob`
 */
export function keptLogprobBackward<L extends Logits>(
  logits: L,
  targets: TokenIds,
  kept: KeptIds,
  state: KeptLogprobResult["state"],
  options: KeptLogprobBackwardOptions,
): LogitViewOf<L> {
  return differentiateKept("keptLogprobBackward", logits, targets, kept, state, options) as LogitViewOf<L>;
}

/** As keptLogprobBackward, in the name of the public function `op`. */
export function differentiateKept(
  op: string,
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  state: KeptLogprobResult["state"],
  options: KeptLogprobBackwardOptions,
): LogitView {
  const { gradLogProbs, gradEntropies, out, entropies: _, ...all } = options;
  const compact = compactRows(op, logits, targets, kept, all);
  if (gradEntropies && !state.whole)
    throw new SurprisalError(
      "ERR_SURPRISAL_OPTION",
      `${op}: gradEntropies is given, but keptLogprob had entropies: false`,
      {
        op,
        name: "gradEntropies",
        got: gradEntropies,
        want: "nothing, or a state with entropies",
      },
    );
  const { view, grad } = needGradient(op, compact.logits, out, null);
  if (gradEntropies) logprobBackward(logits, null, state.whole!, { ...all, gradEntropies, out: view });
  else grad.fill(0);
  if (!gradLogProbs) return view;
  const { temperature, scale, mask, backend } = all;
  const { layout, columns, values } = compact;
  const map = { ...layout, temperature, scale, mask, backend };
  const share = logprobBackward(values, firsts(compact), state.kept, { ...map, gradLogProbs });
  const { stride } = compact.logits;
  const [N, width] = layout.shape;
  const { dtype } = layout;
  const decoded = dtype === "float32" ? (share as Float32Array) : fromHalfBits(share, dtype);
  for (let b = 0; b < N; ++b)
    for (let k = b * width; k < (b + 1) * width && columns[k] !== -1; ++k) {
      const at = b * stride + columns[k]!;
      grad[at] =
        dtype === "float32"
          ? grad[at]! + decoded[k]!
          : toHalfBits([fromHalfBits([grad[at]!], dtype)[0]! + decoded[k]!], dtype)[0]!;
    }
  return view;
}
