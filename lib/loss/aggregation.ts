// Losses per token added up to the loss of a batch: what each token weighs.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { Collective, CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { gatherRowPartials } from "../core/row-partials";
import { type MaskedRows, needMaskedRows, type RowLayout, type Rows } from "../core/row-layout";
import { spreadRows } from "../ops/group/broadcast";
import { keptPerRow } from "../ops/reduce/count-kept";
import { rowMoments } from "../ops/reduce/moments";
import { type AggregationName, AGGREGATIONS } from "../presets/aggregations";

export type { AggregationName } from "../presets/aggregations";

const MODES = ["tokenMean", "rowMean", "rowSum", "fixedLength", "tokenSum"] as const;
const EMPTY_ROWS = ["skip", "count"] as const;

/**
 * What a token of row b weighs, with N kept tokens, c_b of them in the row, R rows and a fixed length L:
 * - `"tokenMean"`: 1 / N. Long rows weigh more.
 * - `"rowMean"`: 1 / (c_b·R). Every row weighs the same.
 * - `"rowSum"`: 1 / R.
 * - `"fixedLength"`: 1 / (L·R). As rowSum, in units of a length that does not depend on the rows.
 * - `"tokenSum"`: 1. Nothing divides: the advantages are scaled beforehand, or the gradients afterwards.
 */
export type AggregationMode = (typeof MODES)[number];

/** Counts beyond this batch, where a batch is a part of a larger one. */
export interface AggregationCounts {
  /** N: kept tokens of the whole batch, > 0. Default: those here. For `"tokenMean"`. */
  readonly tokens?: number;
  /** R: rows of the whole batch, > 0. Default: those here, see `emptyRows`. For the other modes. */
  readonly rows?: number;
  /** L, > 0. Default: the width of `shape`; packed rows must say it. For `"fixedLength"`. */
  readonly length?: number;
  /** Workers whose gradients are averaged afterwards: multiplies, > 0. Default 1. */
  readonly workers?: number;
  /** Batches whose gradients are added before a step: divides, > 0. Default 1. */
  readonly accumulation?: number;
  /**
   * Batches that `tokens` counts, > 0: TRL's `steps_per_generation`, with `num_items_in_batch` as `tokens`. N is then the share of this
   * batch, or of a step of `accumulation` batches in modes that do not divide by it. Default: `tokens` is N.
   */
  readonly stepsPerGeneration?: number;
}

/** What a framework's name for a mode stands for. */
export interface AggregationConventions {
  readonly mode: AggregationMode;
  readonly emptyRows?: (typeof EMPTY_ROWS)[number];
  /** R, where the mode fixes it. */
  readonly rows?: number;
  /** The counts that enter; the mode does not know the others. */
  readonly uses: readonly (keyof AggregationCounts)[];
  /** The counts that must be given where there is more than one worker. */
  readonly needed?: readonly (keyof AggregationCounts)[];
}

/** With a `collective` N, R and the width of `shape` are those of the batch on all its workers, and so is the loss. */
export interface AggregationOptions extends AggregationCounts, RowLayout, BackendOption, CollectiveOption {
  /**
   * A mode by what it computes, or as a framework calls it: `"verl/seq-mean-token-mean"`, `"trl/dapo"`. The latter takes of
   * the counts below those that the framework uses and ignores the others, so that a trainer can pass all it has.
   */
  readonly mode: AggregationMode | AggregationName;
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Whether rows without a kept token are counted in R: they never are in `"skip"`, the default. */
  readonly emptyRows?: (typeof EMPTY_ROWS)[number];
}

export interface AggregatedLoss {
  /** Σ w_b·losses over the kept tokens. 0 where nothing is kept. */
  readonly loss: number;
  /** w_b, one per row: what each of its kept tokens weighs. 0 for a row without any. */
  readonly rowWeights: Float64Array;
  /** d loss / d losses: the row's weight at kept tokens, 0 under the mask; in the type of `losses`. */
  readonly gradients: FloatArray;
}

const COUNTS = [
  "tokens",
  "rows",
  "length",
  "workers",
  "accumulation",
  "stepsPerGeneration",
] as const satisfies readonly (keyof AggregationCounts)[];

/** The framework's convention of that name, or undefined for a mode by what it computes. */
function conventionsOf(op: string, name: string, mode: AggregationOptions["mode"]): AggregationConventions | undefined {
  needWord<string>(op, name, mode, [...MODES, ...Object.keys(AGGREGATIONS)]);
  return MODES.some((word) => word === mode) ? undefined : AGGREGATIONS[mode as AggregationName];
}

/** What divides every weight: `accumulation`, where the mode uses it. */
export function usedAccumulation({
  mode,
  accumulation = 1,
}: Pick<AggregationOptions, "mode" | "accumulation">): number {
  const named = conventionsOf("usedAccumulation", "mode", mode);
  return named && !named.uses.includes("accumulation") ? 1 : accumulation;
}

/** Counts that are given and enter. All are checked, used or not. */
function needCounts(
  op: string,
  options: AggregationCounts,
  named: AggregationConventions | undefined,
): AggregationCounts {
  const counts: { -readonly [Name in keyof AggregationCounts]: number } = {};
  if (named?.rows !== undefined) counts.rows = named.rows;
  for (const name of named?.needed ?? [])
    if (options[name] === undefined && (options.workers ?? 1) > 1)
      throw optionError(op, name, undefined, "the count of all workers, since workers is given");
  for (const name of COUNTS) {
    if (options[name] === undefined) continue;
    const count = needNumber(op, name, options[name], { min: 0, above: true });
    if (!named || named.uses.includes(name)) counts[name] = count;
  }
  if (counts.tokens !== undefined && counts.stepsPerGeneration !== undefined) {
    const batches = counts.accumulation === undefined ? (options.accumulation ?? 1) : 1;
    counts.tokens *= batches / counts.stepsPerGeneration;
  }
  return counts;
}

function needLength(op: string, rows: Rows, length: number | undefined, collective: Collective | undefined): number {
  if (length !== undefined) return length;
  if (rows.offsets) throw optionError(op, "length", length, "a number > 0 for packed rows");
  return collective ? collective.allReduce(Float64Array.of(rows.T), "max")[0]! : rows.T;
}

/** What a kept token of each row weighs, on checked rows: the caller calls the mode `name`. */
export function weighRows(
  op: string,
  name: string,
  { rows, mask }: MaskedRows,
  options: Omit<AggregationOptions, keyof RowLayout | "mask">,
): Float64Array {
  const named = conventionsOf(op, name, options.mode);
  const mode = named ? named.mode : (options.mode as AggregationMode);
  const counts = needCounts(op, options, named);
  const countEmpty = needWord(op, "emptyRows", options.emptyRows ?? named?.emptyRows ?? "skip", EMPTY_ROWS) === 1;
  const kept = keptPerRow(op, rows, mask, options);
  const { collective } = options;
  // Whole numbers: their sum is exact in any order.
  const here = Float64Array.of(
    kept.reduce((sum, c) => sum + c, 0),
    countEmpty ? rows.B : kept.filter((c) => c > 0).length,
  );
  const [tokens, counted] = collective ? collective.allReduce(here, "sum") : here;
  const N = counts.tokens ?? tokens!;
  const R = counts.rows ?? counted!;
  const L = mode === "fixedLength" ? needLength(op, rows, counts.length, collective) : 1;
  const factor = (counts.workers ?? 1) / (counts.accumulation ?? 1);
  const divisor = {
    tokenMean: () => N,
    rowMean: (c: number) => c * R,
    rowSum: () => R,
    fixedLength: () => L * R,
    tokenSum: () => 1,
  }[mode];
  return kept.map((c) => (c > 0 ? factor / divisor(c) : 0));
}

/**
 * What a kept token of each row weighs in the loss of a batch, one number a row: W_bt = m_bt·w_b = d loss / d losses_bt.
 * The same weights belong to the entropy and KL terms.
 *
 * @param options the rows, by `shape` or `offsets` and `mask`; `mode`; counts of the larger batch if there is one
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function aggregationWeights(options: AggregationOptions): Float64Array {
  const op = "aggregationWeights";
  return weighRows(op, "mode", needMaskedRows(op, options), options);
}

/**
 * The loss of a batch: Σ_b w_b·Σ_t m_bt·losses_bt, its weights and its gradient. What lies under the mask is not read. Rows are
 * summed in float64 and added in order.
 *
 * @param losses one per token, [n] as `shape` or `offsets` say
 * @param options as `aggregationWeights`
 * @throws SurprisalError as `aggregationWeights`
 */
export function aggregateLoss(losses: FloatArray, options: AggregationOptions): AggregatedLoss {
  return evaluateAggregate("aggregateLoss", "losses", losses, options);
}

/** As aggregateLoss, in the name of the public function `op` and its argument `name`. */
export function evaluateAggregate(
  op: string,
  name: string,
  losses: FloatArray,
  options: AggregationOptions,
): AggregatedLoss {
  const where = needMaskedRows(op, options);
  const values = needFloats(op, name, losses, where.rows.n, where.rows.meaning);
  const rowWeights = weighRows(op, "mode", where, options);
  const { sums } = rowMoments(op, values, where, options.backend);
  const shares = gatherRowPartials(
    op,
    options.collective,
    sums.map((sum, b) => rowWeights[b]! * sum),
  ).partials;
  const row = floatDType(values) === "float64" ? rowWeights : Float32Array.from(rowWeights);
  return {
    loss: shares.reduce((loss, share) => loss + share, 0),
    rowWeights,
    gradients: spreadRows(op, row, where, options.backend),
  };
}
