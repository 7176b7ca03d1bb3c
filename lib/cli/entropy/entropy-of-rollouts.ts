// The recorded entropies of a batch: how they are distributed, and where in the completion they are high.
import { type FieldChoice, RolloutArguments } from "../rollouts/rollout-arguments";
import { keptValues } from "../../core/kept-values";
import { quantile } from "../../core/quantile";
import { type Figures, figuresOf } from "../rollouts/figures";
import type { Batch } from "../rollouts/read-batches";

const PARTS = 10;
const QUANTILES = [0, 0.05, 0.5, 0.95, 1];

export interface RolloutEntropies {
  readonly batch: string;
  /** Kept tokens. */
  readonly tokens: number;
  readonly entropies: Figures;
  /** At 0, 0.05, 0.5, 0.95 and 1. */
  readonly quantiles: readonly number[];
  /** Tenths of each completion, by its kept tokens. */
  readonly byPosition: readonly {
    readonly from: number;
    readonly to: number;
    readonly tokens: number;
    readonly mean: number;
  }[];
  readonly fields: Readonly<Record<string, string>>;
}

export function entropiesOfRollouts({ label, source, rollouts }: Batch, fields: FieldChoice): RolloutEntropies {
  const read = new RolloutArguments(rollouts, "surprisal entropy", source, fields);
  const values = read.need("entropies");
  const { offsets, mask } = read;
  const kept: number[] = [];
  const parts = Array.from({ length: PARTS }, (): number[] => []);
  for (let row = 0; row < rollouts.length; ++row) {
    const own = keptValues(values, mask, offsets[row], offsets[row + 1]);
    own.forEach((value, t) => {
      kept.push(value);
      parts[Math.floor((t * PARTS) / own.length)]!.push(value);
    });
  }
  const sorted = Float64Array.from(kept).sort();
  return {
    batch: label,
    tokens: kept.length,
    entropies: figuresOf(kept),
    quantiles: QUANTILES.map((q) => quantile(sorted, q)),
    byPosition: parts.map((own, part) => ({
      from: part / PARTS,
      to: (part + 1) / PARTS,
      tokens: own.length,
      mean: figuresOf(own).mean,
    })),
    fields: read.used,
  };
}
