// Rows of a loss that is its KL term and nothing else, as klPenalty() and klEstimates() ask for: a linear loss whose advantages are 0, of
// the current policy, so that a kept token's loss and log ratio are 0 and its ratio 1, which is in every band. Loops over numbers.
import { rowBegin, rowEnd } from "../../core/row-layout";
import { LOSS_FORM, type LossTokenArgs } from "../contract/loss";
import { figuresBehind, rowScale, storeSums, storeToken } from "./loss-figures";
import { scaled } from "./loss-forms";
import { klOf } from "./loss-tokens";

export const isKlAlone = (a: LossTokenArgs): boolean =>
  a.form === LOSS_FORM.linear &&
  a.referenceLogProbs !== null &&
  !a.oldLogProbs &&
  !a.kl.timesRatio &&
  a.advantages.every((A) => A === 0) &&
  !a.factors &&
  !a.termMask;

/** Row b of such a call. False where its sum is not finite, as where a number is NaN: a row of the general way, to be done again. */
export function klRow(a: LossTokenArgs, b: number): boolean {
  const { weight, klScale } = rowScale(a, b);
  let sum = 0;
  let kept = 0;
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
    if (a.mask && a.mask[i] === 0) {
      storeToken(a, i, 0, 0, 0, 0, 0);
      continue;
    }
    const { value, slope } = klOf(a, a.logProbs[i]!, i);
    sum += value;
    ++kept;
    storeToken(a, i, 0, 1, value, 0, scaled(weight, 0) + scaled(klScale, slope));
  }
  figuresBehind(a, b);
  storeSums(a, b, 0, kept, 0, 0, kept > 0 ? 1 : -Infinity, kept, sum);
  return sum - sum === 0;
}
