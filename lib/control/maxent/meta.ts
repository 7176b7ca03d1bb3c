// tau and beta moved by the gradients of their constraints.
import { optionError, show } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";
import { META_METHODS, type MetaController } from "./meta-settings";
import { type MaxentController, moveTau, needBounds, needMaxent, type TauBounds } from "./state";

interface MetaUpdateConventions {
  /** A method that is not known: refused, or nothing moves. Default `"refuse"`. */
  readonly unknownMethod?: "refuse" | "ignore";
}

/** None, NaN and ±∞ leave their coefficient alone. */
export interface MaxentGradients {
  /** Entropy of the weights − its target, nats: above it tau falls. */
  readonly tau?: number | null | undefined;
  /** KL to the reference − its target, nats: above it beta rises. */
  readonly beta?: number | null | undefined;
}

export interface MetaUpdateOptions extends TauBounds, MetaUpdateConventions, PresetOption<"updateMaxentMeta"> {
  /** Multiplies the learning rates; at 0 or below nothing moves. Default 1. */
  readonly rateScale?: number;
  /** Steps so far, an integer: nothing moves unless it is a multiple of `state.meta.updateInterval`. Default: every call is one. */
  readonly step?: number;
}

const UNKNOWN_METHODS = ["refuse", "ignore"] as const;

function knows(op: string, { method }: MetaController, unknownMethod: "refuse" | "ignore"): boolean {
  const ignore = needWord(op, "unknownMethod", unknownMethod, UNKNOWN_METHODS) === 1;
  const known = META_METHODS.some((name) => name === method.toLowerCase());
  if (!known && !ignore)
    throw optionError(op, "state.meta.method", method, `one of ${META_METHODS.map(show).join(", ")}`);
  return known;
}

/**
 * The state after one step along the gradients; the state itself where nothing moves.
 *
 *     tau'  = tau − rate·g, within its bounds          rate = tauLearningRate or learningRate, times rateScale
 *     beta' = max(beta + rate·clip(g, ±betaGradientClip), 0)
 *
 * Signs are those of the constraints: tau falls where the entropy is above its target, beta rises where the KL is. `state.meta`
 * keeps the gradients, unclipped, and says whether a bound was met.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument; the state given stays as it was
 * @see maxent-grpo, its analytic meta-controller
 */
export function updateMaxentMeta(
  state: MaxentController,
  gradients: MaxentGradients,
  options: MetaUpdateOptions = {},
): MaxentController {
  const op = "updateMaxentMeta";
  const resolved = resolvePreset(op, options.preset, options);
  const checked = needMaxent(op, "state", state);
  const { meta } = checked;
  const scale = needNumber(op, "rateScale", resolved.rateScale ?? 1);
  const { min, max } = needBounds(op, resolved);
  const step = needNumber(op, "step", resolved.step ?? 0, { integer: true });
  if (!meta.enabled || !knows(op, meta, resolved.unknownMethod ?? "refuse")) return state;
  if (step % meta.updateInterval !== 0) return state;

  const rate = (own: number): number => (own > 0 ? own : meta.learningRate) * scale;
  const [tauRate, betaRate] = [rate(meta.tauLearningRate), rate(meta.betaLearningRate)];
  const tauMoves = tauRate > 0 && Number.isFinite(gradients.tau);
  const betaMoves = betaRate > 0 && Number.isFinite(gradients.beta);
  if (!tauMoves && !betaMoves) return state;

  let next = checked;
  let memory: Partial<MetaController> = { tauProjected: false, betaProjected: false };
  if (tauMoves) {
    const raw = checked.tau - tauRate * gradients.tau!;
    next = moveTau(next, Math.min(Math.max(raw, min), max));
    memory = { ...memory, lastTauGradient: gradients.tau!, tauProjected: raw <= min || raw > max };
  }
  if (betaMoves) {
    const limit = meta.betaGradientClip > 0 ? meta.betaGradientClip : Infinity;
    const raw = checked.beta + betaRate * Math.min(Math.max(gradients.beta!, -limit), limit);
    next = { ...next, beta: Math.max(raw, 0) };
    memory = { ...memory, lastBetaGradient: gradients.beta!, betaProjected: raw < 0 };
  }
  return { ...next, meta: { ...meta, ...memory } };
}
