// Estimates of KL(policy ‖ reference) from the log-probs of sampled tokens, with their derivatives.
import { KL_KINDS, type KlKind, LOSS_SUMS } from "../../backend/contract/loss";
import type { BackendOption } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, needOutput, refuseOverlap } from "../../core/arrays";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { widestFloat } from "../../core/float-arrays";
import { keepingLast } from "../../core/kept-memory";
import type { DeviceArray, DeviceFloatArray } from "../../core/device-array";
import { DeviceSummary } from "../../core/device-summary";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { type MaskedRows, needMaskedRows, type RowLayout } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import { evaluateSums, figureOfRows, PLACE, sumOfRows } from "./evaluate-loss";
import { type CheckedKl, type CheckedLoss, type LossForm, needKlParameters } from "./loss-inputs";
import { tokenForm } from "./token-loss";
import type { LossKl } from "./types";

takesDeviceArrays("klEstimates");

export interface KlEstimatesOptions
  extends RowLayout, BackendOption, Pick<LossKl, "kind" | "gradientKind" | "logClamp" | "valueClamp"> {
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly values?: FloatArray; readonly gradLogProbs?: FloatArray };
}

export interface KlEstimatesResult {
  /** One per token; 0 under the mask. */
  readonly values: FloatArray;
  /** Derivative of each to the current log-prob; 0 under the mask and where a clamp holds the value. */
  readonly gradLogProbs: FloatArray;
  /** Σ of each row, [rows], float64. */
  readonly rowSums: Float64Array;
  /** Kept tokens of each row, [rows]. */
  readonly counts: Float64Array;
}

const OUTPUTS = ["klValues", "gradLogProbs"] as const;

type KlSums = Pick<KlEstimatesResult, "rowSums" | "counts">;

/** Σ over the rows of their kept tokens. */
export function keptOf(sums: Float64Array): number {
  return sumOfRows(sums, LOSS_SUMS, PLACE.kept);
}

export function rowSumsOf(sums: Float64Array): Float64Array {
  return figureOfRows(sums, LOSS_SUMS, PLACE.kl);
}

function sumsOf(sums: Float64Array): KlSums {
  return { rowSums: rowSumsOf(sums), counts: figureOfRows(sums, LOSS_SUMS, PLACE.kept) };
}

/** As the result on the host, with the sums of the rows still on the device. */
export interface DeviceKlEstimatesResult {
  readonly values: DeviceFloatArray;
  readonly gradLogProbs: DeviceFloatArray;
  readonly summary: DeviceSummary<KlSums>;
}

export { KL_KINDS, type KlKind };

/** The same on a device, where the first array lies. */
export function klEstimates(
  logProbs: DeviceFloatArray,
  referenceLogProbs: AnyFloatArray,
  options: Anywhere<KlEstimatesOptions>,
): DeviceKlEstimatesResult;
/**
 * KL estimates of tokens, from d = logProbs − referenceLogProbs:
 *
 *     k1   d                   unbiased
 *     abs  |d|
 *     k2   d²/2
 *     k3   exp(−d) − 1 + d     unbiased, never negative
 *
 * @param logProbs log-probs under the policy, nats; [n] as `shape` or `offsets` say
 * @param referenceLogProbs log-probs under the reference model, same shape
 * @returns arrays float64 if an input is, else float32; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman 2020, Approximating KL Divergence, http://joschu.net/blog/kl-approx.html
 */
export function klEstimates(
  logProbs: FloatArray,
  referenceLogProbs: FloatArray,
  options: KlEstimatesOptions,
): KlEstimatesResult;
export function klEstimates(
  logProbs: AnyFloatArray,
  referenceLogProbs: AnyFloatArray,
  anywhere: KlEstimatesOptions | Anywhere<KlEstimatesOptions>,
): KlEstimatesResult | DeviceKlEstimatesResult {
  return evaluateKlEstimates(
    "klEstimates",
    logProbs as FloatArray,
    referenceLogProbs as FloatArray,
    anywhere as KlEstimatesOptions,
  );
}

let form: LossForm | undefined;

/** A zero for each row. Nobody writes there. */
const zerosOf = keepingLast((rows) => new Float32Array(rows));

/** A loss that is its KL term and nothing else. */
function klAlone(
  op: string,
  logProbs: FloatArray,
  { rows, mask }: MaskedRows,
  kl: CheckedKl,
  stream: Stream | null,
): CheckedLoss {
  return {
    form: (form ??= tokenForm(op, { form: "linear" })),
    logProbs,
    inputs: {
      rows,
      advantage: { array: zerosOf(rows.B), perToken: false },
      mask,
      kl,
      old: null,
      factor: null,
      rowWeights: null,
      termMask: null,
      marks: null,
    },
    stream,
  };
}

/** Σ (a − b) of each row and its kept tokens, of checked arrays. */
export function gapSums(
  op: string,
  a: FloatArray,
  b: FloatArray,
  { rows, mask }: MaskedRows,
  backend: BackendOption["backend"],
): KlSums {
  const kl = { reference: b, weights: null, parameters: needKlParameters(op, "", { kind: "k1" }) };
  return sumsOf(evaluateSums(op, klAlone(op, a, { rows, mask }, kl, null), { outputs: [], backend }).sums);
}

type KlOutputs = NonNullable<KlEstimatesOptions["out"]>;

/** Estimates and sums of checked arguments. */
export function evaluateKl(
  op: string,
  logProbs: FloatArray,
  where: MaskedRows,
  kl: CheckedKl & { readonly reference: FloatArray },
  out: KlOutputs | undefined,
  backend: BackendOption["backend"],
  stream: Stream | null = null,
): Required<KlOutputs> & { readonly sums: Float64Array } {
  const { n, offsets } = where.rows;
  const given = out && {
    values: out.values && needOutput(op, "values", out.values, widestFloat(logProbs, kl.reference), n),
    gradLogProbs: out.gradLogProbs,
  };
  if (given) refuseOverlap(op, given, given, { logProbs, referenceLogProbs: kl.reference, mask: where.mask, offsets });
  const {
    memory: { klValues, gradLogProbs },
    sums,
  } = evaluateSums(op, klAlone(op, logProbs, where, kl, stream), {
    outputs: OUTPUTS,
    out: given ? { klValues: given.values, gradLogProbs: given.gradLogProbs } : undefined,
    apart: true,
    backend,
  });
  return { values: klValues!, gradLogProbs: gradLogProbs!, sums };
}

/** As klEstimates, in the name of the public function `op`, which has checked its own arguments. */
export function evaluateKlEstimates(
  op: string,
  logProbs: FloatArray,
  referenceLogProbs: FloatArray,
  options: KlEstimatesOptions,
): KlEstimatesResult {
  const { kind, gradientKind, logClamp, valueClamp, out, mask, backend } = options;
  const where = needMaskedRows(op, options);
  const { n, meaning } = where.rows;
  const stream = streamOf(op, options, logProbs, referenceLogProbs, mask);
  const policy = needFloats(op, "logProbs", logProbs, n, meaning);
  const kl = {
    reference: needFloats(op, "referenceLogProbs", referenceLogProbs, n, meaning),
    weights: null,
    parameters: needKlParameters(op, "", { kind, gradientKind, logClamp, valueClamp }),
  };
  const { sums, values, gradLogProbs } = evaluateKl(op, policy, where, kl, out, backend, stream);
  if (!stream) return { values, gradLogProbs, ...sumsOf(sums) };
  const read = ([all]: readonly ArrayBufferView[]): KlSums => sumsOf(all as Float64Array);
  const summary = new DeviceSummary([sums as unknown as DeviceArray], read);
  return { values, gradLogProbs, summary } as unknown as KlEstimatesResult;
}
