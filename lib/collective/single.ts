// The collective of one rank: its calls are those of any other, and wait for nobody.
import type { SurprisalError } from "../core/errors";
import type { Channel, Lane, Swapped } from "./channel";
import { type Ending, lostError } from "./fingerprint";
import { World } from "./group";
import type { OpenedCollective } from "./opened";
import { Line, type Steps } from "./steps";

/** Nothing travels in pieces. */
const WHOLE = 2 ** 52;

class Alone implements Channel {
  readonly rank = 0;
  readonly size = 1;
  readonly firstBytes = WHOLE;
  readonly pieceBytes = WHOLE;
  readonly line = new Line();
  ended: ((op: string) => SurprisalError) | undefined;

  laneOf(): Lane {
    return {
      calls: 0,
      *swap(_op, _print, mine): Steps<Swapped> {
        return { parts: [mine] };
      },
      *release(): Steps<void> {
        // Nobody else reads.
      },
    };
  }

  end(ending: Ending): void {
    this.ended = (op) => lostError(op, ending);
  }

  abort(): void {
    // There is nobody else.
  }
}

export const openSingle = (): OpenedCollective => new World("single", new Alone());
