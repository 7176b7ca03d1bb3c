// Turn by turn, by definition: sums over the turns behind, of runs of kept tokens found by looking at each token's neighbour.
import type { Results } from "./estimator-runs";
import type { TokenBatch } from "./token-batch";

const GAMMA = 0.9;
const LAMBDA = 0.8;

/** The runs of kept tokens of each row, as lists of positions. */
function runsOf({ layout, mask, rows }: TokenBatch): number[][][] {
  return Array.from({ length: rows }, (_, b) => {
    const [begin, end] =
      "shape" in layout
        ? [b * layout.shape[1], (b + 1) * layout.shape[1]]
        : [layout.offsets[b]!, layout.offsets[b + 1]!];
    const kept = Array.from({ length: end - begin }, (_, t) => begin + t).filter((i) => mask[i] !== 0);
    const firsts = kept.filter((i) => !kept.includes(i - 1));
    return firsts.map((first, k) => kept.filter((i) => i >= first && i < (firsts[k + 1] ?? end)));
  });
}

function spread(
  { mask }: TokenBatch,
  runs: readonly number[][][],
  value: (row: number[][], k: number) => number,
): number[] {
  const out = new Array<number>(mask.length).fill(0);
  for (const row of runs) row.forEach((run, k) => run.forEach((i) => (out[i] = value(row, k))));
  return out;
}

export function turnReturnsByDefinition(batch: TokenBatch, reward: "sum" | "last"): Results {
  const rewards = batch.tokens.a;
  const ofRun = (run: number[]) =>
    reward === "last" ? rewards[run.at(-1)!]! : run.reduce((sum, i) => sum + rewards[i]!, 0);
  const advantages = spread(batch, runsOf(batch), (row, k) =>
    row.slice(k).reduce((sum, run, later) => sum + GAMMA ** later * ofRun(run), 0),
  );
  return { advantages, returns: advantages };
}

export function turnGaeByDefinition(batch: TokenBatch): Results {
  const { a: rewards, b: values } = batch.tokens;
  const delta = (row: number[][], k: number) => {
    const next = row[k + 1];
    const sum = row[k]!.reduce((total, i) => total + rewards[i]!, 0);
    return sum + (next ? GAMMA * values[next[0]!]! : 0) - values[row[k]![0]!]!;
  };
  const advantage = (row: number[][], k: number) =>
    row.slice(k).reduce((sum, _, later) => sum + (GAMMA * LAMBDA) ** later * delta(row, k + later), 0);
  const runs = runsOf(batch);
  return {
    advantages: spread(batch, runs, advantage),
    returns: spread(batch, runs, (row, k) => advantage(row, k) + values[row[k]![0]!]!),
  };
}
