// The sum of the log ratios of kept tokens, for what takes rows as a whole.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { PIECE } from "./pieces";

export interface LogRatios {
  sum: number;
  kept: number;
}

interface TokenPairs {
  readonly logProbs: FloatArray;
  readonly oldLogProbs: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly T: number;
}

/** Four tokens at a time, of which mostly all are kept: a sum waits for its last addition. */
function addPiece(to: LogRatios, { logProbs: x, oldLogProbs, mask }: TokenPairs, begin: number, end: number): void {
  const old = oldLogProbs!;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let kept = 0;
  let i = begin | 0;
  for (; i + 3 < end; i += 4) {
    if (mask !== null && (mask[i] === 0 || mask[i + 1] === 0 || mask[i + 2] === 0 || mask[i + 3] === 0)) {
      for (let k = i; k < i + 4; ++k) {
        if (mask[k] === 0) continue;
        a += x[k]! - old[k]!;
        ++kept;
      }
      continue;
    }
    a += x[i]! - old[i]!;
    b += x[i + 1]! - old[i + 1]!;
    c += x[i + 2]! - old[i + 2]!;
    d += x[i + 3]! - old[i + 3]!;
    kept += 4;
  }
  for (; i < end; ++i) {
    if (mask !== null && mask[i] === 0) continue;
    a += x[i]! - old[i]!;
    ++kept;
  }
  to.sum += a + b + (c + d);
  to.kept += kept;
}

/** Adds those of row b, and how many there are. */
export function addLogRatios(to: LogRatios, a: TokenPairs, b: number): void {
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; i += PIECE) addPiece(to, a, i, Math.min(i + PIECE, end));
}
