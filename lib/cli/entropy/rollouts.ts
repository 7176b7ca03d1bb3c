// The recorded entropies of a batch: how they are distributed, and where in the completion they are high.
import { Columns, type FieldChoice } from "../rollouts/columns";
import { type Figures, figuresOf, quantile } from "../rollouts/figures";
import type { Batch } from "../rollouts/read";

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
  readonly byPosition: readonly { readonly from: number; readonly to: number; readonly tokens: number; readonly mean: number }[];
  readonly fields: Readonly<Record<string, string>>;
}

export function entropiesOfRollouts({ label, source, rollouts }: Batch, fields: FieldChoice): RolloutEntropies {
  const columns = new Columns(rollouts, "surprisal entropy", source, fields);
  const values = columns.need("entropies");
  const offsets = columns.offsets();
  const mask = columns.mask();
  const kept: number[] = [];
  const parts = Array.from({ length: PARTS }, (): number[] => []);
  for (let row = 0; row < rollouts.length; ++row) {
    const own: number[] = [];
    for (let i = offsets[row]!; i < offsets[row + 1]!; ++i) if (mask?.[i] !== 0) own.push(values[i]!);
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
    byPosition: parts.map((own, part) => ({ from: part / PARTS, to: (part + 1) / PARTS, tokens: own.length, mean: figuresOf(own).mean })),
    fields: columns.used,
  };
}
