// The recorded entropies of a batch: how they are distributed, and where in the completion they are high.
import type { Collective } from "../../core/collective";
import { concatenated, gatherRagged } from "../../core/row-partials";
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

/** The values of all processes that the batch lies on, in its order. */
function ofAll(
  collective: Collective | undefined,
  values: Float64Array | readonly number[],
): Float64Array | readonly number[] {
  return collective ? concatenated(gatherRagged(collective, Float64Array.from(values))) : values;
}

/** Where the batch lies on several processes, the answer is of all of its rollouts: every kept entropy travels, for the quantiles. */
export function entropiesOfRollouts(batch: Batch, fields: FieldChoice): RolloutEntropies {
  const { label, source, rollouts, collective } = batch;
  const read = new RolloutArguments(rollouts, "surprisal entropy", source, fields, collective);
  const values = read.need("entropies");
  const { offsets, mask } = read;
  const ownParts = Array.from({ length: PARTS }, (): number[] => []);
  for (let row = 0; row < rollouts.length; ++row) {
    const ofRow = keptValues(values, mask, offsets[row], offsets[row + 1]);
    ofRow.forEach((value, t) => {
      ownParts[Math.floor((t * PARTS) / ofRow.length)]!.push(value);
    });
  }
  const kept = ofAll(collective, keptValues(values, mask));
  const parts = ownParts.map((part) => ofAll(collective, part));
  const sorted = Float64Array.from(kept).sort();
  return {
    batch: label,
    tokens: kept.length,
    entropies: figuresOf(kept),
    quantiles: QUANTILES.map((q) => quantile(sorted, q)),
    byPosition: parts.map((tenth, part) => ({
      from: part / PARTS,
      to: (part + 1) / PARTS,
      tokens: tenth.length,
      mean: figuresOf(tenth).mean,
    })),
    fields: read.used,
  };
}
