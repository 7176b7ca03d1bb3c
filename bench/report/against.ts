// What got slower than another revision: beyond what the repetitions themselves vary.
import { OURS } from "../harness/names";
import type { ResultLine } from "../record";

const ALLOWED = 0.05;

/** A revision's contender, as harness/names.ts spells it: a commit behind the name. */
function isRevision({ contender }: ResultLine): boolean {
  return /^surprisal [0-9a-f]{12}$/.test(contender);
}

/**
 * The other revision's time over ours: below 1 it was faster. Slower means: by more than 5 % in four of five repetitions.
 */
function isSlower({ ratio }: ResultLine): boolean {
  return ratio !== undefined && 1 / ratio.p80 > 1 + ALLOWED;
}

/** One sentence for each case that got slower. */
export function slower(lines: readonly ResultLine[]): string[] {
  return lines
    .filter((line) => isRevision(line) && isSlower(line))
    .map(({ op, dtype, shape, rowKind, ratio, contender }) => {
      const times = (1 / ratio!.median).toFixed(2);
      return `slower: ${op} ${dtype} ${shape.name} ${rowKind}: ${times}x the time of ${contender.slice(OURS.length + 1)}`;
    });
}
