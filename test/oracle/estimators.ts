// The estimators by definition, on rows of numbers: sums over later kept tokens, whitening from the differences of all
// pairs, group statistics from the members looked up anew for each row. float64.

export interface Rollout {
  readonly rewards: readonly number[];
  readonly kept: readonly boolean[];
  readonly group: number;
}

const sum = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0);
const keptOf = ({ kept }: Rollout): number => kept.filter(Boolean).length;
export const scoreOf = ({ rewards }: Rollout): number => sum(rewards);

function siblings(rows: readonly Rollout[], row: Rollout): readonly Rollout[] {
  return rows.filter(({ group }) => group === row.group);
}

/** x − mean = Σ_j (x − x_j) / n over sqrt(Σ_{i<j} (x_i − x_j)² / (n (n − 1)) + ε), at kept tokens; 0 elsewhere. */
export function whitened(
  tokens: readonly (readonly number[])[],
  rows: readonly Rollout[],
  epsilon: number,
): number[][] {
  const all = tokens.flatMap((row, b) => row.filter((_, t) => rows[b]!.kept[t]));
  const n = all.length;
  const squares = sum(all.map((x) => sum(all.map((y) => (x - y) ** 2)))) / 2;
  const scale = Math.sqrt((n > 1 ? squares / n / (n - 1) : 0) + epsilon);
  return tokens.map((row, b) => row.map((x, t) => (rows[b]!.kept[t] ? sum(all.map((y) => x - y)) / n / scale : 0)));
}

/** Σ over kept j ≥ t of γ^(kept tokens between) r_j, at every t. */
export function laterRewards({ rewards, kept }: Rollout, gamma: number): number[] {
  return rewards.map((_, t) =>
    sum(rewards.map((r, j) => (j >= t && kept[j] ? gamma ** kept.slice(t, j).filter(Boolean).length * r : 0))),
  );
}

/** As laterRewards, but only up to the first masked token behind t. */
export function rewardsUntilHole({ rewards, kept }: Rollout, gamma: number): number[] {
  return rewards.map((_, t) => {
    if (!kept[t]) return 0;
    const hole = kept.indexOf(false, t);
    return sum(rewards.slice(t, hole < 0 ? undefined : hole).map((r, k) => gamma ** k * r));
  });
}

/** A number per row at its kept tokens. */
export function spread(perRow: readonly number[], rows: readonly Rollout[]): number[][] {
  return rows.map(({ kept }, b) => kept.map((k) => (k ? perRow[b]! : 0)));
}

/** s − Σ w s / Σ w over the group; `alone` for a row without siblings. */
export function lessBaseline(
  rows: readonly Rollout[],
  weight: (row: Rollout) => number,
  alone: "zero" | "raw",
): number[] {
  return rows.map((row) => {
    const group = siblings(rows, row);
    if (group.length === 1) return alone === "raw" ? scoreOf(row) : 0;
    const weights = group.map(weight);
    return sum(weights) === 0
      ? 0
      : sum(group.map((other, i) => weights[i]! * (scoreOf(row) - scoreOf(other)))) / sum(weights);
  });
}

export const byLength = keptOf;
export const equally = (): number => 1;

/** s − mean of the others. */
export function lessOthers(rows: readonly Rollout[]): number[] {
  return rows.map((row) => {
    const others = siblings(rows, row).filter((other) => other !== row);
    return others.length === 0 ? 0 : scoreOf(row) - sum(others.map(scoreOf)) / others.length;
  });
}

/** The best less the second best, over the std and ε. */
export function leadOfBest(rows: readonly Rollout[], epsilon: number): number[] {
  return rows.map((row) => {
    const scores = siblings(rows, row).map(scoreOf);
    if (scores.length === 1) return 0;
    const others = scores.filter((_, i) => siblings(rows, row)[i] !== row);
    const lead = Math.max(scoreOf(row) - Math.max(...others), 0);
    const n = scores.length;
    const squares = sum(scores.map((x) => sum(scores.map((y) => (x - y) ** 2)))) / 2;
    return lead === 0 ? 0 : lead / (Math.sqrt(squares / n / (n - 1)) + epsilon);
  });
}
