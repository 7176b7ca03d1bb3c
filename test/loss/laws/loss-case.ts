// Batches for the laws of losses: ragged rows with holes, empty ones too, ratios from close to 1 to far beyond every clip edge.
import { rng } from "../../support/rng";
import type { LossCase } from "../../oracle/policy-loss";
import type { PolicyBatch } from "../../../lib";

export interface GeneratedBatch {
  readonly batch: PolicyBatch;
  readonly oracle: LossCase;
  /** Position of row b, column t in the arrays of the batch. */
  readonly place: (b: number, t: number) => number;
}

export interface CaseOptions {
  readonly rows: number;
  readonly width: number;
  /** One advantage a row instead of one a token. */
  readonly perRow: boolean;
  readonly packed: boolean;
  readonly factors: "none" | "row" | "token";
  readonly terms: boolean;
  readonly rowMask: boolean;
  readonly onPolicy: boolean;
  /** Log ratios, to the old policy and to the reference, of up to ± this beside the usual ones. Default: none. */
  readonly far?: number;
}

/** Numbers per row, or one for all its tokens. */
type Matrix = number[][];

export function generate(seed: number, options: CaseOptions): GeneratedBatch {
  const { rows, width, packed } = options;
  const r = rng(seed);
  const lengths = Array.from({ length: rows }, () => 1 + Math.floor(r.uniform() * width));
  const matrix = (draw: () => number): Matrix => lengths.map((length) => Array.from({ length }, draw));
  const perRow = (draw: () => number): Matrix => lengths.map((length) => new Array<number>(length).fill(draw()));

  const old = matrix(() => -3 * r.uniform());
  // As many ratios near 1 as across the clip edges as far out.
  const spreads = [0.05, 0.6, 3, ...(options.far === undefined ? [] : [options.far])];
  const current = old.map((row) =>
    row.map((o) => o + spreads[Math.floor(spreads.length * r.uniform())]! * (2 * r.uniform() - 1)),
  );
  const reference = old.map((row) =>
    row.map((o) => o + (options.far !== undefined && r.uniform() < 0.3 ? options.far : 0.8) * (2 * r.uniform() - 1)),
  );
  const advantage = (): number => (r.uniform() < 0.15 ? 0 : 4 * r.uniform() - 2);
  const advantages = (options.perRow ? perRow : matrix)(advantage);
  const weight = (): number => 0.25 + 2 * r.uniform();
  const factors = options.factors === "none" ? matrix(() => 1) : (options.factors === "row" ? perRow : matrix)(weight);
  // Every now and then a row without a kept token.
  const mask = lengths.map((length) => {
    const empty = r.uniform() < 0.15;
    return Array.from({ length }, () => !empty && r.uniform() < 0.85);
  });
  const terms = lengths.map((length) => Array.from({ length }, () => !options.terms || r.uniform() < 0.6));
  const rowKept = lengths.map(() => !options.rowMask || r.uniform() < 0.7);

  const offsets = Int32Array.from([0, ...lengths]).map((_, b, all) =>
    all.subarray(0, b + 1).reduce((x, y) => x + y, 0),
  );
  const place = packed
    ? (b: number, t: number): number => offsets[b]! + t
    : (b: number, t: number): number => b * width + t;
  const n = packed ? offsets[rows]! : rows * width;
  const flat = (values: Matrix): Float64Array => {
    const array = new Float64Array(n).fill(NaN);
    values.forEach((row, b) => row.forEach((x, t) => (array[place(b, t)] = mask[b]![t] ? x : NaN)));
    return array;
  };
  const flags = (values: readonly boolean[][]): Uint8Array => {
    const array = new Uint8Array(n);
    values.forEach((row, b) => row.forEach((on, t) => (array[place(b, t)] = on ? 1 : 0)));
    return array;
  };
  const firsts = (values: Matrix): Float64Array => Float64Array.from(values, (row) => row[0]!);

  const batch: PolicyBatch = {
    ...(packed ? { offsets } : { shape: [rows, width] as const }),
    mask: flags(mask),
    logProbs: flat(current),
    ...(!options.onPolicy && { oldLogProbs: flat(old) }),
    referenceLogProbs: flat(reference),
    advantages: options.perRow ? firsts(advantages) : flat(advantages),
    advantagesPer: options.perRow ? "row" : "token",
    ...(options.factors !== "none" && {
      rolloutWeights: options.factors === "row" ? firsts(factors) : flat(factors),
      rolloutWeightsPer: options.factors,
    }),
    ...(options.terms && { termMask: flags(terms) }),
    ...(options.rowMask && { rowMask: Uint8Array.from(rowKept, Number) }),
  };
  return {
    batch,
    oracle: {
      current,
      frozen: current,
      old: options.onPolicy ? current : old,
      reference,
      advantages,
      factors,
      advantagesPerRow: options.perRow,
      factorsPerRow: options.factors === "row",
      mask,
      terms,
      rowKept,
    },
    place,
  };
}

/** The case with one log-prob moved by h; what is frozen stays. */
export function moved(c: LossCase, b: number, t: number, h: number): LossCase {
  return { ...c, current: c.current.map((row, i) => (i === b ? row.map((x, j) => (j === t ? x + h : x)) : row)) };
}
