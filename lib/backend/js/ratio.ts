// Log ratios (contract: native/include/surprisal/ratio.h). Numbers are float64 here; an array
// rounds once when it stores.
import type { FloatArray } from "../../core/dtype";
import { RATIO_LEVELS, RATIO_REDUCTIONS, type RatioLogArgs, type RatioOps } from "../contract/ratio";
import { ratioOf } from "./exp-less-one";
import { addLogRatios } from "./log-ratio-sum";

const TOKEN = RATIO_LEVELS.indexOf("token");
const SEQUENCE = RATIO_LEVELS.indexOf("sequence");
const SUM = RATIO_REDUCTIONS.indexOf("sum");

function put(out: FloatArray | null, i: number, x: number): void {
  if (out) out[i] = x;
}

/** The rows of unit u: itself at sequence level, its members at group level. */
function unitRows(a: RatioLogArgs, u: number): ArrayLike<number> {
  if (a.level === SEQUENCE) return [u];
  const begin = a.groupOffsets![u]!;
  const end = a.groupOffsets![u + 1]!;
  return a.members ? a.members.subarray(begin, end) : Array.from({ length: end - begin }, (_, i) => begin + i);
}

/** The log ratio of a unit: the mean or sum of the differences over its kept tokens. */
function unitLogRatio(a: RatioLogArgs, rows: ArrayLike<number>): number {
  const found = { sum: 0, kept: 0 };
  for (let r = 0; r < rows.length; ++r) addLogRatios(found, a, rows[r]!);
  return a.reduce === SUM || found.kept === 0 ? found.sum : found.sum / found.kept;
}

// Loops over tokens read the fields of `a` once and store by themselves: `put` has seen arrays of all kinds.
function logTokens({
  n,
  mask,
  logProbs: current,
  oldLogProbs: old,
  logRatios: logRatio,
  ratios: ratio,
}: RatioLogArgs): void {
  for (let i = 0; i < n; ++i) {
    const kept = mask === null || mask[i] !== 0;
    const x = kept ? current[i]! - old[i]! : 0;
    if (logRatio) logRatio[i] = x;
    if (ratio) ratio[i] = kept ? ratioOf(x) : 0;
  }
}

function ratioLog(a: RatioLogArgs): void {
  if (a.level === TOKEN) {
    logTokens(a);
    return;
  }
  const units = a.level === SEQUENCE ? a.B : a.G;
  for (let u = 0; u < units; ++u) {
    const x = unitLogRatio(a, unitRows(a, u));
    put(a.logRatios, u, x);
    put(a.ratios, u, ratioOf(x));
  }
}

export const ratioOps: RatioOps = { ratioLog };
