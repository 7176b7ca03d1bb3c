// Which groups of rollouts teach something: what curricula and dynamic sampling ask.
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { type GroupLayout, needGroups, type NamedGroups } from "../core/groups";
import { needNumber } from "../core/option-checks";

type Range = readonly [low: number, high: number];

export interface GroupFilterOptions extends GroupLayout {
  /** 1 = the row counts in its group. A group without such rows is kept. Default: all 1. */
  readonly live?: Uint8Array;
  /** Gives up groups with more than one live row whose largest and smallest numbers are at most this apart, >= 0. */
  readonly tolerance?: number;
  /** Gives up groups whose live numbers all lie in [low, high]. */
  readonly range?: Range;
  /** Keeps groups whose mean lies strictly inside (low, high). */
  readonly meanInside?: Range;
}

export interface GroupFilterResult {
  /** 1 = kept, one per group. */
  readonly keptGroups: Uint8Array;
  /** The same, one per row. */
  readonly keptRows: Uint8Array;
  /** The numbers of the kept rows. */
  readonly rows: Int32Array;
}

function needRange(op: string, name: string, range: Range | undefined): Range | null {
  if (range === undefined) return null;
  if (!Array.isArray(range) || !(range[0] <= range[1]))
    throw optionError(op, name, range, "[low, high] with low <= high");
  return range;
}

/**
 * Keeps or gives up whole groups by the numbers of their rows: rewards, scores or advantages.
 *
 * @param values one per row
 * @param options rules, all of which a kept group passes; `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function groupFilter(values: FloatArray, options: GroupFilterOptions & NamedGroups): GroupFilterResult {
  const op = "groupFilter";
  const B = (values as FloatArray | undefined)?.length ?? 0;
  const given = needFloats(op, "values", values, B, "one per row");
  const groups = needGroups(op, options, B);
  const live = optionalMask(op, "live", options.live, B, "one per row");
  const tolerance = options.tolerance === undefined ? null : needNumber(op, "tolerance", options.tolerance, { min: 0 });
  const range = needRange(op, "range", options.range);
  const meanInside = needRange(op, "meanInside", options.meanInside);
  const numbers: number[][] = Array.from({ length: groups.G }, () => []);
  given.forEach((x, b) => {
    if (live?.[b] !== 0) numbers[groups.ids[b]!]!.push(x);
  });
  const keptGroups = Uint8Array.from(numbers, (of) => {
    if (of.length === 0) return 1;
    const [low, high] = [Math.min(...of), Math.max(...of)];
    const mean = of.reduce((sum, x) => sum + x, 0) / of.length;
    const equal = tolerance !== null && of.length > 1 && high - low <= tolerance;
    const within = range !== null && low >= range[0] && high <= range[1];
    const outside = meanInside !== null && !(mean > meanInside[0] && mean < meanInside[1]);
    return equal || within || outside ? 0 : 1;
  });
  const keptRows = Uint8Array.from(groups.ids, (g) => keptGroups[g]!);
  const rows = Int32Array.from(keptRows.keys()).filter((b) => keptRows[b] !== 0);
  return { keptGroups, keptRows, rows };
}
