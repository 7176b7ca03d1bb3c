// Losses of tokens with their gradients. docs/ops/loss.md has the formulas of the forms.
import type { AsyncOption } from "../../backend/run-async";
import { LOSS_FORM, LOSS_FORM_OPTIONS, LOSS_FORMS, type LossFormOptions } from "../../backend/contract/loss";
import { RATIO_REDUCTIONS } from "../../backend/contract/ratio";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import { evaluateLoss, evaluateLossAsync } from "./evaluate-loss";
import { type LossForm, needLoss } from "./loss-inputs";
import type { DeviceLossOptions, DeviceLossResult, LossOptions, LossOutput, LossResult } from "./types";
import { type LossBand, needParameters } from "./parameters";

takesDeviceArrays("tokenLoss");

/** What the loss of a token is, and the options that it reads. */
export type TokenForm = LossFormOptions;

export type TokenLossOptions<Output extends LossOutput = LossOutput> = LossOptions<Output> &
  LossBand &
  TokenForm & {
    /** Log-probs under the policy that sampled, [n]; constants for the gradient. Default: the current ones, r = 1. */
    readonly oldLogProbs?: FloatArray;
  };

/** The same on a device, where the log-probs lie. */
export function tokenLoss<const Output extends LossOutput = "gradLogProbs">(
  options: DeviceLossOptions<TokenLossOptions<Output>>,
): DeviceLossResult<Output>;
/**
 * A loss that sees one token at a time, summed over rows with weights, and its gradient.
 *
 *     total = Σ_b rowWeights[b]·Σ_t factor·loss(t) + kl.rowWeights[b]·kl.coefficient·Σ_t kl(t)
 *
 * Masked tokens are not read. An advantage, factor or weight of exactly 0 silences an infinity, not a NaN. NaN stays with
 * its token and the sums that it enters.
 *
 * @returns the total to minimise, sums per row and batch, and the arrays that `outputs` lists; arrays float64 if an input
 * is, else float32. Computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2017 (clip), Ye et al. 2020 (dual clip), Williams 1992 (linear); docs/ops/loss.md for the others
 */
export function tokenLoss<const Output extends LossOutput = "gradLogProbs">(
  options: TokenLossOptions<Output>,
): LossResult<Output>;
export function tokenLoss<const Output extends LossOutput = "gradLogProbs">(
  options: TokenLossOptions<Output> | DeviceLossOptions<TokenLossOptions<Output>>,
): LossResult<Output> | DeviceLossResult<Output> {
  const op = "tokenLoss";
  const given = options as TokenLossOptions<Output>;
  return evaluateLoss(op, needLoss(op, tokenForm(op, given), given), given);
}

/** `tokenLoss` off the event loop. The arrays must not be touched until it resolves. */
export async function tokenLossAsync<const Output extends LossOutput = "gradLogProbs">(
  options: TokenLossOptions<Output> & AsyncOption,
): Promise<LossResult<Output>> {
  const op = "tokenLossAsync";
  return evaluateLossAsync(op, needLoss(op, tokenForm(op, options), options), options);
}

/** The form of a token loss with its numbers, checked. */
export function tokenForm(op: string, options: LossBand & TokenForm): LossForm {
  needWord(op, "form", options.form, LOSS_FORMS);
  const reads = LOSS_FORM_OPTIONS[options.form];
  const { marks } = options as { readonly marks?: Uint8Array };
  if (reads.needs.includes("marks") !== (marks !== undefined)) {
    const want =
      marks === undefined
        ? `an array: form "${options.form}" reads it`
        : `nothing: form "${options.form}" does not read it`;
    throw optionError(op, "marks", marks, want);
  }
  return {
    run: "lossToken",
    form: LOSS_FORM[options.form],
    reduce: RATIO_REDUCTIONS.indexOf("mean"),
    parameters: needParameters(op, options.form, reads, options),
    oldPerRow: false,
    rowsOnly: false,
    lossesPer: "token",
    ratiosPer: "token",
  };
}
