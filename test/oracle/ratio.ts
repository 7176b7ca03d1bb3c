// Log ratios and the clipped objective by definition. A unit (what has one ratio) is a set of token positions, a term is a
// (unit, row, advantage); the gradient at a token is the sum over all terms whose unit holds the token. Slow and literal.

export interface Clip {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip?: number;
  readonly ratioCap?: number;
  readonly logClamp?: number;
  readonly maxLogRatio?: number;
}

export interface PolicyBatch {
  readonly current: ArrayLike<number>;
  readonly old: ArrayLike<number>;
  /** Kept positions of each row. */
  readonly rows: readonly (readonly number[])[];
  readonly advantage: (row: number, position: number) => number;
  /** Group number of each row. */
  readonly groups?: readonly number[];
}

type Level = "token" | "sequence" | "group";

/** Kept positions of padded rows. */
export function paddedRows([B, T]: readonly [number, number], mask?: ArrayLike<number>): number[][] {
  return Array.from({ length: B }, (_, b) =>
    Array.from({ length: T }, (_, t) => b * T + t).filter((i) => !mask || mask[i] !== 0),
  );
}

interface Unit {
  readonly rows: readonly number[];
  readonly positions: readonly number[];
}

function unitsOf({ rows, groups }: PolicyBatch, level: Level): Unit[] {
  if (level === "token") return rows.flatMap((row, b) => row.map((i) => ({ rows: [b], positions: [i] })));
  if (level === "sequence") return rows.map((positions, b) => ({ rows: [b], positions }));
  const numbers = groups ?? rows.map(() => 0);
  return Array.from({ length: Math.max(-1, ...numbers) + 1 }, (_, g) => {
    const members = rows.map((_, b) => b).filter((b) => numbers[b] === g);
    return { rows: members, positions: members.flatMap((b) => rows[b]!) };
  });
}

function logRatioOf({ current, old }: PolicyBatch, { positions }: Unit, reduce: "mean" | "sum"): number {
  const sum = positions.map((i) => current[i]! - old[i]!).reduce((a, b) => a + b, 0);
  return reduce === "sum" ? sum : sum / Math.max(positions.length, 1);
}

export function logRatioOracle(batch: PolicyBatch, level: Level, reduce: "mean" | "sum" = "mean"): number[] {
  return unitsOf(batch, level).map((unit) => logRatioOf(batch, unit, reduce));
}

/** Value and derivative of one term, and where it sits. Finite numbers only. */
export function termOracle(x: number, A: number, clip: Clip) {
  const { dualClip = Infinity, ratioCap = Infinity, logClamp = Infinity, maxLogRatio = Infinity } = clip;
  const ratio = Math.exp(Math.min(Math.max(x, -logClamp), logClamp, maxLogRatio));
  const clippedRatio = Math.min(Math.max(ratio, 1 - clip.clipLow), 1 + clip.clipHigh);
  const free = Math.min(ratio, ratioCap) * A;
  const banded = clippedRatio * A;
  const ppo = Math.min(free, banded);
  const floor = A < 0 ? dualClip * A : -Infinity;
  const moves =
    Math.abs(x) <= logClamp &&
    x <= maxLogRatio &&
    (free <= banded ? ratio <= ratioCap : ratio === clippedRatio) &&
    ppo >= floor;
  return {
    ratio,
    clippedRatio,
    value: Math.max(ppo, floor),
    slope: moves ? A * ratio : 0,
    clipped: banded < free,
    limited: ppo < floor,
  };
}

export interface OracleOptions extends Clip {
  readonly level: Level;
  readonly reduce?: "mean" | "sum";
  readonly weights: readonly number[];
}

export function clippedObjectiveOracle(batch: PolicyBatch, options: OracleOptions) {
  const { level, reduce = "mean", weights } = options;
  const units = unitsOf(batch, level);
  const terms = units.flatMap((unit, u) =>
    unit.rows.map((row) => ({
      u,
      row,
      positions: unit.positions,
      ...termOracle(logRatioOf(batch, unit, reduce), batch.advantage(row, unit.positions[0] ?? -1), options),
    })),
  );
  const gradLogProbs = new Float64Array(batch.current.length);
  for (const term of terms)
    for (const i of term.positions)
      gradLogProbs[i]! += (weights[term.row]! * term.slope) / (reduce === "sum" ? 1 : term.positions.length);
  const objectives = weights.map((weight, row) =>
    terms.filter((term) => term.row === row).reduce((sum, term) => sum + weight * term.value, 0),
  );
  const ratios = terms.map((term) => term.ratio);
  return {
    objective: objectives.reduce((a, b) => a + b, 0),
    objectives,
    /** In the order of units; token units are kept tokens only. */
    terms,
    units: units.map((unit) => ({ ...unit, ...termOracle(logRatioOf(batch, unit, reduce), 0, options) })),
    gradLogProbs,
    clipFraction: terms.filter((term) => term.clipped).length / terms.length,
    dualClipFraction: terms.filter((term) => term.limited).length / terms.length,
    meanRatio: ratios.reduce((a, b) => a + b, 0) / ratios.length,
    maxRatio: Math.max(...ratios),
  };
}

/** d objective / d current[i] by a central difference. */
export function numericalGradient(batch: PolicyBatch, options: OracleOptions, i: number, h: number): number {
  const at = (x: number): number => {
    const current = Float64Array.from(batch.current);
    current[i]! += x;
    return clippedObjectiveOracle({ ...batch, current }, options).objective;
  };
  return (at(h) - at(-h)) / (2 * h);
}
