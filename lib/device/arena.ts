// Arenas: memory on the host that a loop uses again and again.
import { Arena } from "../core/arena";
import { needNumber } from "../core/option-checks";

export interface ArenaOptions {
  /** What a step needs, in bytes, where that is known ahead. Default 0: the first step shows it. */
  readonly bytes?: number;
}

/**
 * Memory for the outputs of the calls of one step: name it in each, `{ arena }`, and `reset()` it at the end of the step. From the second
 * step on nothing is taken from the system, as long as no step needs more than those before it.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for bytes that are no whole number
 */
export function createArena({ bytes = 0 }: ArenaOptions = {}): Arena {
  return new Arena(needNumber("createArena", "bytes", bytes, { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true }));
}
