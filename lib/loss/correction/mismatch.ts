// A batch whose tokens have two log-probs: the trainer's before the update, and the sampler's. Its statistics are measured
// once, however many metrics need them.
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needNumber, needWord } from "../../core/option-checks";
import { samplerOrKnown, type UnknownSamplerOption } from "../../core/unknown-sampler";
import { layoutOfRows, needRows, type RowLayout, type Rows } from "../../core/row-layout";
import type { MismatchMeasures, MismatchStatistic } from "../../ops/correction";
import { measurePair } from "../../ops/correction/measure";

const EMPTY_ROWS = ["skip", "count"] as const;
const FIGURES = ["applied", "raw"] as const;

/** Numbers by name, for a dashboard. */
export type CorrectionMetrics = Record<string, number>;

/** The choices in which systems differ. */
export interface RolloutConventions {
  /** Whether rows without a kept token enter the figures over rows (with 0): `"skip"`, the default, or `"count"`. */
  readonly emptyRows?: (typeof EMPTY_ROWS)[number];
  /** Added to counts that divide, and to the mean in the effective sample size, >= 0. Default 0. */
  readonly epsilon?: number;
  /** Largest |log ratio| of a token or row that enters weights, rejection and χ², > 0, nats. Default 20. */
  readonly logClamp?: number;
  /** Figures of weights are of those that are `"applied"`, the default, or of the `"raw"` ones. Shares outside of bounds are of the raw ones. */
  readonly figures?: (typeof FIGURES)[number];
}

/** Rows, mask and conventions of every function here. */
export interface RolloutOptions extends RowLayout, BackendOption, RolloutConventions, UnknownSamplerOption {
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Bounds of a statistic, in its own unit. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

export const UNBOUNDED: Bounds = { low: -Infinity, high: Infinity };

interface Taken {
  readonly bounds: Bounds | undefined;
  readonly measures: MismatchMeasures;
}

export class Mismatch {
  readonly rows: Rows;
  readonly mask: Uint8Array | null;
  /** u, filled up where the sampler told none and that is asked for. */
  readonly samplerLogProbs: FloatArray;
  readonly epsilon: number;
  readonly logClamp: number;
  readonly countsEmptyRows: boolean;
  readonly rawFigures: boolean;
  /** What an op on the same tokens takes. */
  readonly layout: RowLayout & BackendOption & { readonly mask?: Uint8Array };
  readonly #taken = new Map<string, Taken>();
  #kept: Float64Array | undefined;

  constructor(
    readonly op: string,
    readonly oldLogProbs: FloatArray,
    samplerLogProbs: FloatArray,
    options: RolloutOptions,
    /** Where the caller wrote the conventions: a path that ends in a point, or nothing. */
    at = "",
  ) {
    this.rows = needRows(op, options);
    const { n, meaning } = this.rows;
    needFloats(op, "oldLogProbs", oldLogProbs, n, meaning);
    const sampler = needFloats(op, "samplerLogProbs", samplerLogProbs, n, meaning);
    this.samplerLogProbs = samplerOrKnown(op, sampler, oldLogProbs, options);
    this.mask = optionalMask(op, "mask", options.mask, n, meaning);
    this.epsilon = needNumber(op, `${at}epsilon`, options.epsilon ?? 0, { min: 0 });
    this.logClamp = needNumber(op, `${at}logClamp`, options.logClamp ?? 20, { min: 0, above: true, infinite: true });
    this.countsEmptyRows = needWord(op, `${at}emptyRows`, options.emptyRows ?? "skip", EMPTY_ROWS) === 1;
    this.rawFigures = needWord(op, `${at}figures`, options.figures ?? "applied", FIGURES) === 1;
    this.layout = {
      ...layoutOfRows(this.rows),
      mask: this.mask ?? undefined,
      backend: options.backend,
    };
  }

  /** Measures per row. Without bounds: those of an earlier call with any, whose `bounded` and counts say nothing then. */
  measure(statistic: MismatchStatistic, logClamp: number, bounds?: Bounds): MismatchMeasures {
    const key = `${statistic} ${logClamp}`;
    const taken = this.#taken.get(key);
    if (taken && (!bounds || (taken.bounds?.low === bounds.low && taken.bounds.high === bounds.high)))
      return taken.measures;
    const measures = measurePair(this.op, this.oldLogProbs, this.samplerLogProbs, {
      ...this.layout,
      statistic,
      logClamp,
      ...bounds,
    });
    this.#taken.set(key, { bounds, measures });
    return measures;
  }

  /** What every measurement has; the ratio's, where there is none yet. */
  #any(): MismatchMeasures {
    for (const { measures } of this.#taken.values()) return measures;
    return this.measure("ratio", this.logClamp);
  }

  /** Σ (old − rollout) of each row, not clamped. */
  get differences(): Float64Array {
    return this.#any().differences;
  }

  /** Kept tokens of each row. */
  get kept(): Float64Array {
    return (this.#kept ??= this.#any().moments.counts);
  }

  /** N, the kept tokens of the batch. */
  get tokens(): number {
    return this.kept.reduce((sum, c) => sum + c, 0);
  }

  /** Numbers of the rows that figures over rows are about. */
  get countedRows(): number[] {
    return this.countsEmptyRows ? Array.from(this.kept, (_, b) => b) : this.liveRows;
  }

  /** Numbers of the rows with a kept token. */
  get liveRows(): number[] {
    return Array.from(this.kept.keys()).filter((b) => this.kept[b]! > 0);
  }

  /** sum / (count + epsilon), 0 for nothing. */
  mean(sum: number, count: number): number {
    return count + this.epsilon > 0 ? sum / (count + this.epsilon) : 0;
  }

  /** Figures of a row per kept token: sums / (kept + epsilon). */
  perToken(sums: Float64Array): Float64Array {
    return sums.map((sum, b) => this.mean(sum, this.kept[b]!));
  }
}
