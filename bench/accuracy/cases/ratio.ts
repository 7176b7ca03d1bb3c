// Log ratios and the clipped objective at each level.
import { clippedObjective, logRatio } from "../../../lib";
import {
  type Clip,
  clippedObjectiveOracle,
  logRatioOracle,
  paddedRows,
  type PolicyBatch,
} from "../../../test/oracle/ratio";
import { rng } from "../../../test/support/rng";
import { float64Sum, roundingOf, U64 } from "../budgets";
import { floats, largest, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Budget, Case } from "../measure";

const LEVELS = ["token", "sequence", "group"] as const;
const SHAPE = [6, 37] as const;
const GROUPS = [0, 1, 0, 1, 1, 2];
const CLIP: Clip = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };

interface Kind {
  readonly shift: (r: ReturnType<typeof rng>, n: number) => ArrayLike<number>;
  readonly old: readonly [low: number, high: number];
  readonly scale: number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  random: { shift: (r, n) => r.normal(n, 0, 0.25), old: [-3, 0], scale: 2 },
  "flat: the same policy": { shift: (_, n) => new Float64Array(n), old: [-3, 0], scale: 2 },
  "hot: log-probs near −1e4": { shift: (r, n) => r.normal(n, 0, 0.5), old: [-10_001, -10_000], scale: 2 },
  "ratios from e⁻²⁰ to e²⁰": { shift: (r, n) => r.f64(n, -20, 20), old: [-30, -20], scale: 2 },
  "advantages of 1e6": { shift: (r, n) => r.normal(n, 0, 0.25), old: [-3, 0], scale: 1e6 },
};

/** float32: 1e-7·(1 + |x|) of the log ratio x and, relatively, of the ratio. float64 has the bound of its sums. */
function ratioBudgets(
  dtype: WideFloat,
  logRatios: readonly number[],
  size: number,
  terms: number,
): { log: Budget; ratio: Budget } {
  if (dtype === "float32")
    return {
      log: { says: "1e-7·(1 + |x|)", allowed: (want) => 1e-7 * (1 + Math.abs(want)) },
      ratio: { says: "1e-7·(1 + |x|), relatively", allowed: (want, i) => 1e-7 * (1 + Math.abs(logRatios[i]!)) * want },
    };
  const says = "float64 in a fixed order";
  return {
    log: { ...float64Sum(dtype, terms, () => size), says },
    // An error of the exponent is a relative error of the ratio.
    ratio: { says, allowed: (want) => roundingOf(dtype, want) + (terms + 16) * U64 * (1 + size) * want },
  };
}

function levelCases(dtype: WideFloat, input: string, kind: Kind, level: (typeof LEVELS)[number]): Case[] {
  const [B, T] = SHAPE;
  const n = B * T;
  const r = rng(81);
  const old = floats(dtype, r.f64(n, ...kind.old));
  const moved = kind.shift(r, n);
  const current = floats(
    dtype,
    Array.from(old, (x, i) => x + moved[i]!),
  );
  const mask = r.mask(n, 0.7);
  const advantages = floats(dtype, r.f64(B, -kind.scale, kind.scale));
  const weights = r.f64(B, 0.1, 1);
  const rows = paddedRows(SHAPE, mask);
  const batch: PolicyBatch = { current, old, rows, groups: GROUPS, advantage: (b) => advantages[b]! };
  const options = { level, shape: SHAPE, mask, ...(level === "group" && { groups: GROUPS }) };
  /** An answer per kept token at its position; per row or group as it is. */
  const placed = (x: readonly number[], masked = 0): number[] => {
    if (level !== "token") return [...x];
    const out = new Array<number>(n).fill(masked);
    rows.flat().forEach((i, k) => (out[i] = x[k]!));
    return out;
  };
  const logs = logRatioOracle(batch, level);
  const placedLogs = placed(logs);
  const difference = largest(Array.from(current, (x, i) => x - old[i]!));
  const terms = level === "token" ? 1 : level === "sequence" ? T : n;
  const { log, ratio } = ratioBudgets(dtype, placedLogs, difference, terms);

  // The objective has a ratio per token or row: rows of a group have its one.
  const byTerm = (x: readonly number[]): number[] => (level === "group" ? GROUPS.map((g) => x[g]!) : placed(x));
  const { ratio: ratioOfTerm } = ratioBudgets(dtype, byTerm(logs), difference, terms);

  const want = clippedObjectiveOracle(batch, { ...CLIP, level, weights: Array.from(weights) });
  const perTerm = new Float64Array(level === "token" ? n : B);
  if (level === "token") want.terms.forEach((term) => (perTerm[term.positions[0]!] = -term.value));
  else want.terms.forEach((term) => (perTerm[term.row] = -term.value));
  // Terms, gradients and objectives are ratio times advantage: what a ratio may lose, they may.
  const relative = (1 + largest(logs)) * (dtype === "float32" ? 1e-7 : (terms + 16) * U64);
  const likeRatio: Budget = { says: "as the ratio", allowed: (x) => relative * Math.abs(x) + roundingOf(dtype, x) };
  // The group's gradient is a sum over rows with either sign.
  const gradientSize = want.terms.reduce(
    (m, term) => Math.max(m, Math.abs(term.slope * weights[term.row]!) / Math.max(term.positions.length, 1)),
    0,
  );
  const gradient: Budget =
    level === "group"
      ? { says: "as the ratio, of the largest row", allowed: () => B * relative * gradientSize }
      : likeRatio;
  const rowSize = Array.from(weights, (w, b) =>
    want.terms.filter((term) => term.row === b).reduce((s, term) => s + w * Math.abs(term.value), 0),
  );
  return [
    {
      op: `logRatio (${level})`,
      dtype,
      input,
      want: {
        logRatios: { values: placedLogs, budget: log },
        ratios: { values: placed(logs.map(Math.exp)), budget: ratio },
      },
      run: (backend) => ({ ...logRatio(current, old, { ...options, backend }) }),
    },
    {
      op: `clippedObjective (${level})`,
      dtype,
      input,
      want: {
        ratios: { values: byTerm(want.units.map((unit) => unit.ratio)), budget: ratioOfTerm },
        losses: { values: perTerm, budget: likeRatio },
        gradLogProbs: { values: want.gradLogProbs, budget: gradient },
        objectives: {
          values: want.objectives,
          budget: {
            says: "float64 in a fixed order",
            allowed: (_, b) => (terms + T + 16) * U64 * (1 + difference) * rowSize[b]!,
          },
        },
      },
      run: (backend) => {
        const outputs = ["ratios", "losses", "gradLogProbs"] as const;
        const call = { ...options, ...CLIP, rowWeights: weights, outputs, backend };
        const { ratios, losses, gradLogProbs, objectives } = clippedObjective(current, old, advantages, call);
        return { ratios, losses, gradLogProbs, objectives };
      },
    },
  ];
}

export default function ratioCases(reduced: boolean): Case[] {
  return WIDE_FLOATS.flatMap((dtype) =>
    Object.entries(KINDS).flatMap(([input, kind]) =>
      LEVELS.filter((level) => !reduced || level !== "group").flatMap((level) => levelCases(dtype, input, kind, level)),
    ),
  );
}
