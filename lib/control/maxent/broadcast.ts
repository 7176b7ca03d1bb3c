// The coefficients of one worker, on all of them.
import type { Collective } from "../../core/collective";
import { dtypeError, shapeError } from "../../core/errors";
import { broadcastState } from "../broadcast-state";
import { logOf, type MaxentController, needMaxent } from "./state";

/**
 * The moving part of a state as four numbers, for any transport: beta, tau, average entropy (NaN where there is none), ln tau.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the field
 */
export function packMaxentController(state: MaxentController): Float64Array {
  const { tau, beta, logTau, entropyAverage } = needMaxent("packMaxentController", "state", state);
  return Float64Array.of(beta, tau, entropyAverage ?? NaN, logTau ?? logOf(tau));
}

/**
 * The state with the numbers that `packMaxentController` wrote on another worker: its beta and tau, and its average and logarithm
 * where they are finite.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _SHAPE unless `packed` is four float64 numbers, _OPTION for a tau or beta that is
 * negative or not finite; the state given stays as it was
 */
export function applyMaxentController(state: MaxentController, packed: Float64Array): MaxentController {
  const op = "applyMaxentController";
  const given: unknown = packed;
  if (Object.prototype.toString.call(given) !== "[object Float64Array]")
    throw dtypeError(op, "packed", given, "a Float64Array");
  if (packed.length !== 4)
    throw shapeError(op, "packed.length", packed.length, "4: beta, tau, average entropy, ln tau");
  const [beta, tau, average, log] = packed as unknown as [number, number, number, number];
  const here = needMaxent(op, "state", state);
  const known = (value: number, otherwise: number | null): number | null =>
    Number.isFinite(value) ? value : otherwise;
  const next = {
    ...here,
    beta,
    tau,
    entropyAverage: known(average, here.entropyAverage),
    logTau: known(log, here.logTau),
  };
  return needMaxent(op, "packed", next);
}

/**
 * The state of rank `root` on every rank, to the last bit; the settings in `meta` and `foreign` stay those of the rank.
 *
 * @throws SurprisalError as `broadcastState`
 */
export function broadcastMaxentController(state: MaxentController, collective: Collective, root = 0): MaxentController {
  const { meta, foreign, ...numbers } = needMaxent("broadcastMaxentController", "state", state);
  const { lastTauGradient, lastBetaGradient } = meta;
  const got = broadcastState({ ...numbers, lastTauGradient, lastBetaGradient }, collective, root);
  const { lastTauGradient: tauGradient, lastBetaGradient: betaGradient, ...rest } = got;
  return { ...rest, foreign, meta: { ...meta, lastTauGradient: tauGradient, lastBetaGradient: betaGradient } };
}
