// Losses that couple the tokens of a row, with their gradients. docs/ops/loss.md has the formulas of the forms.
import type { AsyncOption } from "../../backend/run-async";
import { ROW_FORM, ROW_FORMS } from "../../backend/contract/loss";
import { type RatioReduction, RATIO_REDUCTIONS } from "../../backend/contract/ratio";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { argumentError } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import type { Per } from "../../core/per-row";
import { evaluateLoss, evaluateLossAsync, type LossForm } from "./loss-inputs";
import type { DeviceLossOptions, DeviceLossResult, LossOptions, LossOutput, LossResult } from "./types";
import { type LossBand, needParameters, ROW_PARAMETERS } from "./parameters";

takesDeviceArrays("rowLoss");

interface RowClip {
  readonly clipLow: number;
  readonly clipHigh: number;
  /** > 1. Default Infinity, off. */
  readonly dualClip?: number;
  /** `"mean"` or `"sum"` of x over the kept tokens. Default `"mean"`. */
  readonly reduce?: RatioReduction;
  /** `"row"`: oldLogProbs has the sum of each row, [rows]. Default `"token"`. */
  readonly oldLogProbsPer?: Per;
}

/** What the loss of a row is, with x = ℓ − old of a token and s the mean or sum of x over the row. */
export type RowForm =
  | ({
      /** The clipped surrogate of s for every term; the gradient goes through s to all kept tokens. */
      readonly form: "clip";
    } & RowClip)
  | ({
      /** The clipped surrogate of s once a row; the gradient goes through s. Advantages and factors per row. */
      readonly form: "clipOnce";
    } & RowClip)
  | ({
      /** As `"clip"`, but the gradient of a term goes to its own token: −A·exp(s) where not clipped. */
      readonly form: "clipLocal";
    } & RowClip)
  | {
      /**
       * −mean(A)·exp(Σ (n + ln factor)/d) once a row, n = min(x, clipHigh) for A > 0, max(x, −clipLow) for A < 0, over terms;
       * d = terms (at least 1), or terms + countEpsilon. The clip widths are in log space.
       */
      readonly form: "geometric";
      readonly clipLow: number;
      readonly clipHigh: number;
      /** >= 0. Default 0. */
      readonly countEpsilon?: number;
    }
  | {
      /**
       * −p·A·ℓ for every term, p = exp(λ + k·ln w − λ·w) a constant for the gradient, with ln w = Σ x + Σ ln factor within
       * [ln 1e-8, 20]. Shape k and rate λ by the sign of A (A = 0: positive). A factor per row counts once.
       */
      readonly form: "gamma";
      readonly shapePositive: number;
      readonly ratePositive: number;
      readonly shapeNegative: number;
      readonly rateNegative: number;
    }
  | {
      /** (coefficient·s − A)² once a row; the gradient goes through s. Advantages and factors per row. */
      readonly form: "squared";
      readonly coefficient: number;
      /** `"mean"` or `"sum"` of x over the kept tokens. Default `"mean"`. */
      readonly reduce?: RatioReduction;
      /** `"row"`: oldLogProbs has the sum of each row, [rows]. Default `"token"`. */
      readonly oldLogProbsPer?: Per;
    };

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
  return evaluateRowLoss("rowLoss", options as RowLossOptions<Output>);
}

/** `rowLoss` off the event loop. The arrays must not be touched until it resolves. */
export async function rowLossAsync<const Output extends LossOutput = "gradLogProbs">(
  options: RowLossOptions<Output> & AsyncOption,
): Promise<LossResult<Output>> {
  const op = "rowLossAsync";
  return evaluateLossAsync(op, rowForm(op, options), options);
}

/** As rowLoss, in the name of the public function `op`. */
export function evaluateRowLoss<const Output extends LossOutput>(
  op: string,
  options: RowLossOptions<Output>,
): LossResult<Output> {
  return evaluateLoss(op, rowForm(op, options), options, "kl.");
}

/** Forms whose value is one number a row. */
const ONCE_FORMS: ReadonlySet<RowForm["form"]> = new Set(["clipOnce", "geometric", "squared"]);
/** Those of them that say nothing of a single token. */
const WHOLE_FORMS: ReadonlySet<RowForm["form"]> = new Set(["clipOnce", "squared"]);

/** The form of a row loss with its numbers, checked. */
function rowForm(op: string, options: LossBand & RowForm): LossForm {
  needWord(op, "form", options.form, ROW_FORMS);
  const { reduce, oldLogProbsPer } = options as { readonly reduce?: RatioReduction; readonly oldLogProbsPer?: Per };
  const ownSum = options.form === "geometric" || options.form === "gamma";
  for (const [name, value] of Object.entries({ reduce, oldLogProbsPer }))
    if (ownSum && value !== undefined)
      throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, `nothing: form "${options.form}" does not read it`);
  return {
    run: "lossRow",
    form: ROW_FORM[options.form],
    reduce: needWord(op, "reduce", reduce ?? "mean", RATIO_REDUCTIONS),
    parameters: needParameters(op, options.form, ROW_PARAMETERS[options.form], options),
    oldPerRow: needWord(op, "oldLogProbsPer", oldLogProbsPer ?? "token", PER) === 1,
    rowsOnly: WHOLE_FORMS.has(options.form),
    lossesPer: ONCE_FORMS.has(options.form) ? "row" : "token",
    ratiosPer: "row",
  };
}
