// Asking after something until it has ended, between turns of the event loop.
import { setImmediate as nextTurn, setTimeout as after } from "node:timers/promises";

/** Looks a turn apart, before they are a millisecond apart. */
const TURNS = 256;

/**
 * @param look true: it has ended; false: not yet; a text: it failed
 * @param late whether to wait no longer; then the answer is false
 */
export async function polled(look: () => boolean | string, late: () => boolean): Promise<boolean | string> {
  for (let looks = 0; ; ++looks) {
    const state = look();
    if (state !== false || late()) return state;
    await (looks < TURNS ? nextTurn() : after(1));
  }
}
