// Entropy-modulated advantages of multi-step rollouts (EMPG): find the steps, weigh them, modulate.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask, refuseOverlap } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { optionError, SurprisalError } from "../core/errors";
import { needWord } from "../core/option-checks";
import { checkTogether } from "../core/row-partials";
import { type GroupLayout, needGroups } from "../core/groups";
import { layoutOf, needRows, type RowLayout, type Rows } from "../core/row-layout";
import { DeviceArray } from "../core/device-array";
import { takesDeviceArrays } from "../core/device-ops";
import type { Anywhere, OnDevice, StreamOption } from "../core/on-device";
import { type DeviceSpans, type FindSpansOptions, findSpans } from "../ops/delim";
import { meansOf } from "../ops/delim/span-values";
import type { TokenIds } from "../core/arrays";
import type { GroupConventions } from "../ops/group";
import { broadcastRows } from "../ops/group/broadcast";
import { normalizeItems } from "../ops/group/normalize";
import type { ModulateSpansOptions, StepWeightsOptions } from "../ops/modulate";
import { applyToSpans } from "../ops/modulate/modulate-spans";
import { type StepWeights, weighSteps } from "../ops/modulate/step-weights";
import { type PresetOption, resolvePreset } from "../presets";

/** Which steps there are, what they weigh, and where their mean is subtracted. */
export interface EmpgConventions
  extends
    Pick<FindSpansOptions, "overlapping" | "includeEnd" | "unterminated" | "startsOpen">,
    Pick<StepWeightsOptions, "k" | "kFuture" | "epsilon" | "nonFinite">,
    Pick<ModulateSpansOptions, "zeta" | "scope"> {}

takesDeviceArrays("empgAdvantage");

/** One batch of rollouts. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface EmpgBatch extends RowLayout, GroupLayout {
  /** Ids of the response, turns of the environment included. */
  readonly tokens: TokenIds;
  /** Entropy of the behaviour policy at each token, nats. Read inside steps only. */
  readonly entropies: FloatArray;
  /** Advantages per token. Give these, `rowAdvantages` or `rewards`. */
  readonly advantages?: FloatArray;
  /** One advantage per row, spread over the tokens that `mask` keeps. */
  readonly rowAdvantages?: FloatArray;
  /** One reward per row: `grpoAdvantage` makes advantages of them, within `groups` or `groupOffsets`. */
  readonly rewards?: FloatArray;
  /** 1 = the policy's token. Default: all 1; scope `"mask"` needs it, and is the default only where there is one. */
  readonly mask?: Uint8Array;
  /**
   * Valid tokens of each padded row: delimiters do not match behind, and an unterminated step ends there. Default: up to the
   * last token that `mask` keeps, so that padding is never part of a step; without a mask all.
   */
  readonly lengths?: TokenIds;
}

export interface EmpgAdvantageOptions
  extends
    EmpgConventions,
    Pick<FindSpansOptions, "start" | "end" | "head">,
    PresetOption<"empgAdvantage">,
    BackendOption,
    CollectiveOption {
  /** Options of `grpoAdvantage`, where the batch has `rewards`. */
  readonly grpoAdvantage?: GroupConventions;
  /** Reuse memory instead of allocating; may be the very array `batch.advantages`. */
  readonly out?: { readonly advantages?: FloatArray };
}

/** Per step: [S], sorted by row, in the order in which `findSpans` lists them. */
export interface EmpgAdvantageResult extends StepWeights {
  /** Modulated, per token. */
  readonly advantages: FloatArray;
  /** [S,3]: row, begin, finish within the row, finish exclusive. */
  readonly spans: Int32Array;
  /** Mean entropy of each step, nats. */
  readonly stepEntropies: Float64Array;
  /** What was subtracted: the mean modulated advantage at the steps' first tokens. 0 without steps. */
  readonly mean: number;
}

/** One batch of rollouts that lie on a device. Offsets stay in host memory. */
export type DeviceEmpgBatch = Anywhere<
  Omit<EmpgBatch, "tokens" | "lengths" | "rewards" | "groups" | "groupOffsets">
> & {
  readonly tokens: DeviceArray<"int32">;
  /** As on the host, but required for padded rows with a mask on the device: the last kept token is not looked up there. */
  readonly lengths?: TokenIds | DeviceArray<"int32">;
};

/** Options where the batch lies on a device. */
export type DeviceEmpgAdvantageOptions = Anywhere<EmpgAdvantageOptions> & {
  /** Room for steps; more of them are reported at the next read. Default n/16 + 64. */
  readonly capacity?: number;
};

/** As on the host. Per step: [capacity], of which the first `spans.count` count, and the rest is 0. */
export type DeviceEmpgAdvantageResult = Omit<OnDevice<EmpgAdvantageResult>, "spans"> & { readonly spans: DeviceSpans };

/** Tokens of each padded row up to its last kept one. */
function keptLengths(op: string, { B, T }: Rows, mask: Uint8Array): Int32Array {
  if (DeviceArray.is(mask)) {
    const want = "the valid tokens of each row, which nobody counts under a mask on a device";
    throw optionError(op, "lengths", undefined, want);
  }
  return Int32Array.from({ length: B }, (_, b) => {
    let length = T;
    while (length > 0 && mask[b * T + length - 1] === 0) --length;
    return length;
  });
}

/** Where every step runs: as the options say, and on the stream of the tokens. */
function backendOf(
  { tokens }: EmpgBatch,
  { backend, stream }: BackendOption & StreamOption,
): BackendOption & StreamOption {
  const given = stream ?? (DeviceArray.is(tokens) ? tokens.stream : undefined);
  return { backend, stream: given };
}

function refuseNonFinite(op: string, entropies: Float64Array, spans: Int32Array): void {
  const step = entropies.findIndex((entropy) => !Number.isFinite(entropy));
  if (step < 0) return;
  const [row, begin, finish] = spans.subarray(3 * step);
  const got = entropies[step];
  throw new SurprisalError(
    "ERR_SURPRISAL_VALUE",
    `${op}: the entropy of step ${step} (row ${row}, tokens ${begin} to ${finish! - 1}) is ${got}, expected a finite number; nonFinite: "propagate" lets it through`,
    { op, name: `entropies of step ${step}`, got, want: "a finite number" },
  );
}

/** The advantages to modulate, per token. */
function givenAdvantages(
  op: string,
  batch: EmpgBatch,
  { n, B, meaning }: Rows,
  options: EmpgAdvantageOptions,
  backend: BackendOption,
): FloatArray {
  const { advantages, rewards, mask } = batch;
  const forms = [advantages, batch.rowAdvantages, rewards].filter((form) => form !== undefined);
  if (forms.length !== 1)
    throw optionError(
      op,
      "advantages",
      advantages,
      "one of advantages (per token), rowAdvantages and rewards (per row)",
    );
  if (advantages !== undefined) return needFloats(op, "advantages", advantages, n, meaning);
  const layout = { ...layoutOf(batch), mask, ...backend };
  if (rewards === undefined) return broadcastRows(op, "rowAdvantages", batch.rowAdvantages, layout);
  const values = needFloats(op, "rewards", rewards, B, "one per row");
  const { normalized } = normalizeItems(
    op,
    { values, groups: needGroups(op, batch, B) },
    { ...options.grpoAdvantage, ...backend, collective: options.collective },
  );
  return broadcastRows(op, "rewards", normalized, layout);
}

/**
 * The same on a device, where the tokens lie. The call does not wait: the device finds, measures and weighs the steps, and the host
 * does not know their number. The next read reports a step whose entropy is not finite, and more steps than there is room for.
 */
export function empgAdvantage(batch: DeviceEmpgBatch, options: DeviceEmpgAdvantageOptions): DeviceEmpgAdvantageResult;
/**
 * EMPG: steps in which the policy was sure get larger updates, uncertain ones smaller, and a step that leads to a sure one
 * gets a bonus.
 *
 *     H[s] = mean entropy over the tokens of step s;  Hn = (H − min H)/(max H − min H + ε) over all steps of the batch
 *     A ← A·scale[s] + ζ·clarity[s+1]      over the tokens of step s; the bonus only where step s+1 is of the same row
 *     A ← A − mean                         where `scope` says
 *
 * with scale and clarity of `stepWeights` and the mean of `modulateSpans`. Without steps the advantages come back unchanged.
 * Normalising the advantages beforehand is the caller's choice. Masked tokens outside every step keep their value.
 *
 * @param batch the rollouts
 * @param options delimiters `start`, `end` and optionally `head`; conventions with their defaults; preset `"empg-literal"`
 * @returns advantages in the float type of the input
 * @throws SurprisalError ERR_SURPRISAL_VALUE for a step whose entropy is not finite, naming the first one; _SHAPE, _DTYPE,
 * _OPTION, _RANGE or _BUFFER for bad input. Nothing is written then
 * @see arXiv 2509.09265
 */
export function empgAdvantage(batch: EmpgBatch, options: EmpgAdvantageOptions): EmpgAdvantageResult;
export function empgAdvantage(
  given: EmpgBatch | DeviceEmpgBatch,
  anywhere: EmpgAdvantageOptions | DeviceEmpgAdvantageOptions,
): EmpgAdvantageResult | DeviceEmpgAdvantageResult {
  const op = "empgAdvantage";
  const options = anywhere as EmpgAdvantageOptions;
  const batch = given as EmpgBatch;
  const resolved = resolvePreset(op, options.preset, options);
  const rows = needRows(op, batch);
  const { n, meaning } = rows;
  const entropies = needFloats(op, "entropies", batch.entropies, n, meaning);
  const mask = optionalMask(op, "mask", batch.mask, n, meaning);
  const there = DeviceArray.is(batch.tokens);
  const backend = backendOf(batch, anywhere);
  const searching = there ? backend : {}; // host tokens are searched where host arrays are
  const layout = layoutOf(batch);
  const nonFinite = resolved.nonFinite ?? "throw";
  needWord(op, "nonFinite", nonFinite, ["throw", "propagate"]);
  const advantages = givenAdvantages(op, batch, rows, options, backend);

  const { k, kFuture, epsilon, zeta, scope, out, collective } = resolved;
  const { preset: _, nonFinite: __, grpoAdvantage: ___, ...matching } = resolved;
  const together = { collective: options.collective };
  const tokens = ArrayBuffer.isView(batch.tokens) ? batch.tokens : null;
  refuseOverlap(op, out, { advantages: out?.advantages }, { entropies, tokens });
  const lengths = batch.lengths ?? (mask && !rows.offsets ? keptLengths(op, rows, mask) : undefined);
  const found = findSpans(batch.tokens, { ...layout, ...matching, lengths, ...searching });
  // On a device the list stays whole: how many spans it has is known there alone.
  const spans = there ? (found as unknown as Int32Array) : found.spans;
  const stepEntropies = meansOf(op, entropies, spans, { ...layout, ...backend });
  if (nonFinite === "throw" && !there) checkTogether(op, collective, () => refuseNonFinite(op, stepEntropies, spans));
  const weighing = {
    k,
    kFuture,
    epsilon,
    nonFinite: there ? nonFinite : ("propagate" as const), // refused above, with the step's place
    ...backend,
    ...together,
  };
  const weights = weighSteps(
    op,
    "entropies",
    stepEntropies,
    weighing,
    there ? (found.count as unknown as BigInt64Array) : null,
  );
  const modulated = applyToSpans(op, advantages, spans, {
    ...layout,
    scales: weights.scales,
    clarities: weights.clarities,
    zeta,
    scope: scope ?? (mask ? "mask" : "all"),
    mask: mask ?? undefined,
    out,
    ...backend,
    ...together,
  });
  return { ...modulated, spans, stepEntropies, ...weights };
}
