// Centring and scaling at two levels of their own: group or batch.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { asFloat, floatDType } from "../core/float-arrays";
import { type GroupLayout, needGroups, type NamedGroups } from "../core/groups";
import { needFlag, needNumber, needWord } from "../core/option-checks";
import { layoutOfRows, needRows, type RowLayout } from "../core/row-layout";
import { affine, Moments, moments, whiten } from "../ops/reduce";
import { roundedTo } from "./token-rewards";

const LEVELS = ["batch", "group", "none"] as const;
const ABOUT = ["center", "mean"] as const;

export interface NormalizeLevelsOptions extends RowLayout, GroupLayout, BackendOption {
  /** Whose mean is subtracted. Default `"group"`. */
  readonly center?: (typeof LEVELS)[number];
  /** The mean of the other numbers instead. Default false. */
  readonly leaveOneOut?: boolean;
  /** Whose std divides. Default `"group"`. */
  readonly scale?: (typeof LEVELS)[number];
  /** The std is about what was subtracted (`"center"`), or about the mean of its own level. Default `"mean"`. */
  readonly about?: (typeof ABOUT)[number];
  /** Degrees of freedom that the variance gives up. Default 1. */
  readonly ddof?: number;
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** Rows of a group with one row, or with a std of at most `epsilon`, become 0 where a std divides. Default false. */
  readonly zeroSmall?: boolean;
  /** 1 = counts, 0 = is not read and becomes 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Moments of which a std is made: about 0 where the numbers are centred already; of too few numbers those of std 1. */
function spreadOf(of: Moments, aboutZero: boolean, ddof: number): Moments {
  const { counts, means, m2s } = of;
  const partials = Array.from(counts, (count, u) => {
    if (count <= ddof) return [ddof + 1, 0, 0, 1, 0, 0];
    return [count, 0, 0, m2s[u]! + (aboutZero ? count * means[u]! ** 2 : 0), 0, 0];
  });
  return new Moments(Float64Array.from(partials.flat()));
}

/**
 * Centres numbers on the mean of their group or of the batch, and divides by the std of their group or of the batch:
 *
 *     y = (x − mean) / (std + ε)          std about that mean, or about the mean of its own level
 *
 * A level with no more than `ddof` numbers has std 1. Without kept numbers nothing changes.
 *
 * @param values one per row, or per token with `shape` or `offsets`
 * @param options levels; `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @returns in the type of `values`; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function normalizeLevels(values: FloatArray, options: NormalizeLevelsOptions & NamedGroups): FloatArray {
  const op = "normalizeLevels";
  const laidOut = options.shape !== undefined || options.offsets !== undefined;
  const rows = laidOut
    ? needRows(op, options)
    : needRows(op, { shape: [(values as FloatArray | undefined)?.length ?? 0, 1] });
  const given = needFloats(op, "values", values, rows.n, rows.meaning);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning) ?? undefined;
  const groups = needGroups(op, options, rows.B);
  const center = LEVELS[needWord(op, "center", options.center ?? "group", LEVELS)]!;
  const scale = LEVELS[needWord(op, "scale", options.scale ?? "group", LEVELS)]!;
  const aboutMean = needWord(op, "about", options.about ?? "mean", ABOUT) === 1;
  const ddof = needNumber(op, "ddof", options.ddof ?? 1, { min: 0 });
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-6, { min: 0 });
  const leaveOneOut = needFlag(op, "leaveOneOut", options.leaveOneOut) === 1;
  const zeroSmall = needFlag(op, "zeroSmall", options.zeroSmall) === 1;
  const where = { ...layoutOfRows(rows), mask, backend: options.backend };
  const unit = (level: (typeof LEVELS)[number]) =>
    level === "group" ? { ...where, groups: groups.ids, over: "group" as const } : { ...where, over: "all" as const };
  const x = asFloat(given, "float64");
  const kept = moments(x, unit("batch")).counts[0]!;
  if (kept === 0) return given.slice();

  let y: FloatArray = x;
  if (center !== "none") {
    y = whiten(x, { ...unit(center), scale: "none" });
    if (leaveOneOut) {
      const { counts } = moments(x, unit(center));
      const stretch = counts.map((n) => (n > 1 ? n / (n - 1) : 1));
      const perRow = Float64Array.from(groups.ids, (g) => stretch[center === "group" ? g : 0]!);
      y = affine(y, { ...where, scale: perRow });
    }
  }
  if (scale !== "none") {
    const spread = spreadOf(moments(aboutMean ? x : y, unit(scale)), !aboutMean, ddof);
    y = whiten(y, { ...unit(scale), center: "none", moments: spread, ddof, epsilon });
    if (zeroSmall) {
      const own = moments(x, unit("group"));
      const small = spread.stds(ddof).map((std) => (std <= epsilon ? 1 : 0));
      const factors = Float64Array.from(groups.ids, (g) =>
        own.counts[g]! > 1 && !small[scale === "group" ? g : 0] ? 1 : 0,
      );
      y = affine(y, { ...where, scale: factors });
    }
  } else if (mask) y = affine(y, where);
  return roundedTo(floatDType(given), y);
}
