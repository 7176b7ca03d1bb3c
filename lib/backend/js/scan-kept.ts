// Advantages of most calls: masked tokens are no steps, the discount is one number, both results are asked for. The same bits as
// scan.ts has.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { ScanGaeArgs } from "../contract/scan";
import { PIECE } from "./pieces";

/** What goes from a piece to the one ahead of it: the value of the next step, and its advantage. */
const carried = new Float64Array(2);
/** The discount, and the same times λ. */
const discounts = new Float64Array(2);

/** Steps end − 1 … begin. Two at a time: what the later one needs of the earlier one is known before its advantage is. */
function scanPiece(a: ScanGaeArgs, advantages: FloatArray, returns: FloatArray, begin: number, end: number): void {
  const { mask, rewards, values } = a;
  const gamma = discounts[0]!;
  const decay = discounts[1]!;
  const first = begin | 0;
  let nextValue = carried[0]!;
  let advantage = carried[1]!;
  let i = (end | 0) - 1;
  for (;;) {
    for (; i > first && (mask === null || (mask[i] !== 0 && mask[i - 1] !== 0)); i -= 2) {
      const value = values[i]!;
      const before = values[i - 1]!;
      const delta = rewards[i]! + gamma * nextValue - value;
      const deltaBefore = rewards[i - 1]! + gamma * value - before;
      advantage = delta + decay * advantage;
      advantages[i] = advantage;
      returns[i] = advantage + value;
      advantage = deltaBefore + decay * advantage;
      advantages[i - 1] = advantage;
      returns[i - 1] = advantage + before;
      nextValue = before;
    }
    if (i < first) break;
    if (mask === null || mask[i] !== 0) {
      const value = values[i]!;
      advantage = rewards[i]! + gamma * nextValue - value + decay * advantage;
      advantages[i] = advantage;
      returns[i] = advantage + value;
      nextValue = value;
      --i;
    }
    for (; i >= first && mask !== null && mask[i] === 0; --i) {
      advantages[i] = 0;
      returns[i] = 0;
    }
  }
  carried[0] = nextValue;
  carried[1] = advantage;
}

export function gaeOfKept(a: ScanGaeArgs, advantages: FloatArray, returns: FloatArray): void {
  for (let b = 0; b < a.B; ++b) {
    discounts[0] = a.gamma;
    discounts[1] = a.gamma * (a.lambdas ? a.lambdas[b]! : a.lambda);
    carried[0] = a.bootstrap ? a.bootstrap[b]! : 0;
    carried[1] = 0;
    const begin = rowBegin(a, b);
    for (let end = rowEnd(a, b); end > begin; end -= PIECE)
      scanPiece(a, advantages, returns, Math.max(begin, end - PIECE), end);
  }
}
