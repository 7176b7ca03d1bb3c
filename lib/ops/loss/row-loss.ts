// Losses that couple the tokens of a row, with their gradients. docs/ops/loss.md has the formulas of the forms.
import type { AsyncOption } from "../../backend/run-async";
import { ROW_FORM, ROW_FORM_OPTIONS, ROW_FORMS, type RowFormOptions } from "../../backend/contract/loss";
import { type RatioReduction, RATIO_REDUCTIONS } from "../../backend/contract/ratio";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import type { Per } from "../../core/per-row";
import { evaluateLoss, evaluateLossAsync } from "./evaluate-loss";
import { type LossForm, needLoss } from "./loss-inputs";
import type { DeviceLossOptions, DeviceLossResult, LossOptions, LossOutput, LossResult } from "./types";
import { type LossBand, needParameters } from "./parameters";

takesDeviceArrays("rowLoss");

/** How the log ratio of a row is made. */
interface RowSum {
  /** `"mean"` or `"sum"` of x over the kept tokens. Default `"mean"`. */
  readonly reduce?: RatioReduction;
  /** `"row"`: oldLogProbs has the sum of each row, [rows]. Default `"token"`. */
  readonly oldLogProbsPer?: Per;
}

/** The forms that add up the row in a way of their own. */
type SummedForm = "geometric" | "gamma";

/** What the loss of a row is, and the options that it reads. */
export type RowForm =
  | (Exclude<RowFormOptions, { readonly form: SummedForm }> & RowSum)
  | Extract<RowFormOptions, { readonly form: SummedForm }>;

export type RowLossOptions<Output extends LossOutput = LossOutput> = LossOptions<Output> &
  LossBand &
  RowForm & {
    /** Log-probs under the policy that sampled, [n]; constants for the gradient. Default: the current ones, s = 0. */
    readonly oldLogProbs?: FloatArray;
  };

const PER = ["token", "row"] as const;

/** The same on a device, where the log-probs lie. */
export function rowLoss<const Output extends LossOutput = "gradLogProbs">(
  options: DeviceLossOptions<RowLossOptions<Output>>,
): DeviceLossResult<Output>;
/**
 * A loss of rows of tokens, summed with weights, and its gradient.
 *
 *     total = Σ_b rowWeights[b]·(Σ_t factor·loss(s, t), or the row's one value) + the KL term of `tokenLoss`
 *
 * Masked tokens are not read. A row without kept tokens has s = 0; forms of one value a row still count it, unless its weight
 * is 0. An advantage, factor or weight of exactly 0 silences an infinity, not a NaN. NaN spreads to its row.
 *
 * @returns as `tokenLoss`; `losses` is [rows] for `"clipOnce"`, `"geometric"` and `"squared"`, `clipped` for
 * `"clipOnce"` and `"squared"`, `ratios` always
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Zheng et al. 2025, Group Sequence Policy Optimization, equation 5 (clip); docs/ops/loss.md for the others
 */
export function rowLoss<const Output extends LossOutput = "gradLogProbs">(
  options: RowLossOptions<Output>,
): LossResult<Output>;
export function rowLoss<const Output extends LossOutput = "gradLogProbs">(
  options: RowLossOptions<Output> | DeviceLossOptions<RowLossOptions<Output>>,
): LossResult<Output> | DeviceLossResult<Output> {
  const op = "rowLoss";
  const given = options as RowLossOptions<Output>;
  return evaluateLoss(op, needLoss(op, rowForm(op, given), given), given);
}

/** `rowLoss` off the event loop. The arrays must not be touched until it resolves. */
export async function rowLossAsync<const Output extends LossOutput = "gradLogProbs">(
  options: RowLossOptions<Output> & AsyncOption,
): Promise<LossResult<Output>> {
  const op = "rowLossAsync";
  return evaluateLossAsync(op, needLoss(op, rowForm(op, options), options), options);
}

/** Forms whose value is one number a row. */
const ONCE_FORMS: ReadonlySet<RowForm["form"]> = new Set(["clipOnce", "geometric", "squared"]);
/** Those of them that say nothing of a single token. */
const WHOLE_FORMS: ReadonlySet<RowForm["form"]> = new Set(["clipOnce", "squared"]);

/** The form of a row loss with its numbers, checked. */
export function rowForm(op: string, options: LossBand & RowForm): LossForm {
  needWord(op, "form", options.form, ROW_FORMS);
  const { reduce, oldLogProbsPer } = options as { readonly reduce?: RatioReduction; readonly oldLogProbsPer?: Per };
  if (options.form === "geometric" || options.form === "gamma") {
    const nothing = `nothing: form "${options.form}" does not read it`;
    if (reduce !== undefined) throw optionError(op, "reduce", reduce, nothing);
    if (oldLogProbsPer !== undefined) throw optionError(op, "oldLogProbsPer", oldLogProbsPer, nothing);
  }
  return {
    run: "lossRow",
    form: ROW_FORM[options.form],
    reduce: needWord(op, "reduce", reduce ?? "mean", RATIO_REDUCTIONS),
    parameters: needParameters(op, options.form, ROW_FORM_OPTIONS[options.form], options),
    oldPerRow: needWord(op, "oldLogProbsPer", oldLogProbsPer ?? "token", PER) === 1,
    rowsOnly: WHOLE_FORMS.has(options.form),
    lossesPer: ONCE_FORMS.has(options.form) ? "row" : "token",
    ratiosPer: "row",
  };
}
