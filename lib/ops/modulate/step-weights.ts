// Weights of steps from their entropies, over a whole batch.
import { type BackendOption, selectBackend } from "../../backend/select";
import { float64Or, lengthOf, needFloats } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import type { ModulateStepsArgs } from "../../backend/contract/modulate";
import { streamOf } from "../../backend/streams";
import { DeviceArray } from "../../core/device-array";
import { optionError, valueError } from "../../core/errors";
import type { OnDevice, StreamOption } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { checkTogether, gatherRowPartials } from "../../core/row-partials";
import type { Stream } from "../../core/stream";

takesDeviceArrays("stepWeights");

export interface StepWeightsOptions extends BackendOption, CollectiveOption {
  /** Sharpness of the self-calibrating scale; 0 makes every scale 1, negative favours uncertain steps. Default 1. */
  readonly k?: number;
  /** Sharpness of the future clarity (k_f in the paper). Default 1. */
  readonly kFuture?: number;
  /** Stabiliser of both quotients, >= 0, in nats for the first. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * What a NaN or infinite entropy does:
   * - `"throw"`: ERR_SURPRISAL_VALUE, naming the first such step.
   * - `"propagate"`: IEEE arithmetic; it reaches every step of the batch.
   *
   * Default `"throw"`.
   */
  readonly nonFinite?: "throw" | "propagate";
}

/** One number per step, in the order of the input. */
export interface StepWeights {
  /** Entropies mapped to 0 … 1 over the batch. */
  readonly entropyNorms: Float64Array;
  /** Factor of the step's own advantage: above 1 for confident steps, mean 1. */
  readonly scales: Float64Array;
  /** Clarity of the step, in (0, 1] for kFuture >= 0: what the step before it is rewarded for. */
  readonly clarities: Float64Array;
}

function refuseNonFinite(op: string, name: string, entropies: FloatArray): void {
  const step = entropies.findIndex((entropy) => !Number.isFinite(entropy));
  if (step < 0) return;
  const hint = 'nonFinite: "propagate" lets it through';
  throw valueError(op, `${name}[${step}]`, entropies[step], "a finite entropy of every step", hint);
}

/** As stepWeights, in the name of the public function `op` and its argument `name`. */
export function weighSteps(
  op: string,
  name: string,
  entropies: FloatArray,
  options: StepWeightsOptions,
  count: BigInt64Array | null = null,
): StepWeights {
  const stream = streamOf(op, options, entropies);
  const given = needFloats(op, name, entropies, lengthOf(entropies), "one per step");
  const k = needNumber(op, "k", options.k ?? 1);
  const kFuture = needNumber(op, "kFuture", options.kFuture ?? 1);
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-8, { min: 0 });
  const throws = needWord(op, "nonFinite", options.nonFinite ?? "throw", ["throw", "propagate"]) === 0;
  if (stream) return weighOnDevice(op, stream, given, count, { k, kFuture, epsilon, finite: throws ? 1 : 0 });
  if (throws) checkTogether(op, options.collective, () => refuseNonFinite(op, name, given));
  const { partials: entropy, begin, end } = gatherRowPartials(op, options.collective, Float64Array.from(given));
  const all = entropy.length;
  const entropyNorms = new Float64Array(all);
  const scales = new Float64Array(all);
  const clarities = new Float64Array(all);
  selectBackend(op, options.backend).ops.modulateSteps({
    entropies: entropy,
    S: all,
    k,
    kFuture,
    epsilon,
    entropyNorms,
    scales,
    clarities,
    count: null,
    finite: 0, // seen to above, on all workers
  });
  const own = (values: Float64Array): Float64Array => (options.collective ? values.slice(begin, end) : values);
  return { entropyNorms: own(entropyNorms), scales: own(scales), clarities: own(clarities) };
}

/** Every step at once; the kernel looks for numbers that are not finite, and reports them at the next read. */
function weighOnDevice(
  op: string,
  stream: Stream,
  entropies: FloatArray,
  count: BigInt64Array | null,
  settings: Pick<ModulateStepsArgs, "k" | "kFuture" | "epsilon" | "finite">,
): StepWeights {
  const S = entropies.length;
  const output = () => float64Or(op, "", undefined, S, stream);
  const weights = { entropyNorms: output(), scales: output(), clarities: output() };
  selectBackend(op, undefined, stream).ops.modulateSteps({
    entropies: asFloat(entropies, "float64") as Float64Array,
    S,
    ...weights,
    count,
    ...settings,
  });
  return weights;
}

/** Options where the entropies lie on a device. */
export type DeviceStepWeightsOptions = StepWeightsOptions &
  StreamOption & {
    /** [1]: how many steps there are, the `count` of spans found on the device. Default: one for each entropy. */
    readonly count?: DeviceArray<"int64">;
  };

/** The same on a device, where the entropies lie, in float64: 0 behind the last step. A number that is not finite is reported at the next read. */
export function stepWeights(
  entropies: DeviceArray<"float64">,
  options?: DeviceStepWeightsOptions,
): OnDevice<StepWeights>;
/**
 * Self-calibrating scale and future clarity of steps.
 *
 *     Hn[s] = (H[s] − min H) / (max H − min H + ε)         over all S steps
 *     scale[s] = exp(−k·Hn[s]) / (mean exp(−k·Hn) + ε),   clarity[s] = exp(−kFuture·Hn[s])
 *
 * One step, or equal entropies: Hn 0, scale 1/(1 + ε), clarity 1. A range far below ε is squashed towards 0. No steps: empty
 * results. With a `collective` the batch is that of all its workers; results are of the steps here.
 *
 * @param entropies mean entropy of each step of the whole batch, nats; [S]
 * @returns float64, [S] each
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _OPTION, _BUFFER, or _VALUE for an entropy that is not finite
 * @see arXiv 2509.09265, self-calibrating gradient scaling and future clarity
 */
export function stepWeights(entropies: FloatArray, options?: StepWeightsOptions): StepWeights;
export function stepWeights(
  entropies: FloatArray | DeviceArray<"float64">,
  options: DeviceStepWeightsOptions = {},
): StepWeights | OnDevice<StepWeights> {
  const { count = null } = options;
  if (count && !DeviceArray.is(entropies))
    throw optionError("stepWeights", "count", count, "nothing where the entropies are in host memory");
  return weighSteps("stepWeights", "entropies", entropies as FloatArray, options, count as BigInt64Array | null);
}
