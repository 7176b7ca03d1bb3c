// A number per row put on the row's last kept token, on top of what the tokens have already.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("groupPlace");

const EXTENTS = ["kept", "all"] as const;

/** What is added up. At least one of the three. */
export interface GroupPlaceTerms {
  /** One per row, for its last kept token. Default: 0. */
  readonly row?: FloatArray;
  /** Per token, as it is. Default: 0. */
  readonly tokens?: FloatArray;
  /** Per token, times `scale`. Default: 0. */
  readonly values?: FloatArray;
}

export interface GroupPlaceOptions extends RowLayout, BackendOption {
  /** Factor of `values`. With 0 they are not read. Default 1. */
  readonly scale?: number;
  /** Bounds of `row`: min(max(row, low), high). Either may be infinite. Default: none. */
  readonly clip?: readonly [low: number, high: number];
  /** 1 = a kept token. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * Where `tokens` and `values` count: at `"kept"` tokens, the others are 0 and what lies there is not read; or at `"all"`.
   * Default `"kept"`.
   */
  readonly over?: (typeof EXTENTS)[number];
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly placed?: FloatArray };
}

const NAMES = { row: "row", tokens: "tokens", values: "values", clip: "clip", placed: "placed" };

/** As groupPlace, in the name of the public function `op` and of its arguments, where those differ. */
export function placeRows(
  op: string,
  terms: GroupPlaceTerms,
  options: GroupPlaceOptions,
  argumentNames: Partial<typeof NAMES> = {},
): FloatArray {
  const names = { ...NAMES, ...argumentNames };
  const stream = streamOf(op, options, terms.row, terms.tokens, terms.values, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const row = optionalFloats(op, names.row, terms.row, B, "one per row");
  const tokens = optionalFloats(op, names.tokens, terms.tokens, n, meaning);
  const values = optionalFloats(op, names.values, terms.values, n, meaning);
  if (!row && !tokens && !values) throw optionError(op, names.row, undefined, "row, tokens or values");
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const scale = needNumber(op, "scale", options.scale ?? 1);
  const [low, high] = needClip(op, names.clip, options.clip);
  const transformMasked = needWord(op, "over", options.over ?? "kept", EXTENTS);
  const dtype = widestFloat(row, tokens, values);
  const placed = outputOr(op, names.placed, options.out?.placed, dtype, n, stream);
  refuseOverlap(
    op,
    options.out?.placed,
    { [names.placed]: placed },
    { [names.row]: row, [names.tokens]: tokens, [names.values]: values, mask, offsets },
  );
  selectBackend(op, options.backend, stream).ops.groupPlace({
    dtype: DTYPE_CODE[dtype],
    row: row && asFloat(row, dtype),
    tokens: tokens && asFloat(tokens, dtype),
    values: values && asFloat(values, dtype),
    mask,
    offsets,
    n,
    B,
    T,
    scale,
    low,
    high,
    transformMasked,
    placed,
  });
  return placed;
}

function needClip(op: string, name: string, clip: unknown): readonly [low: number, high: number] {
  if (clip == null) return [-Infinity, Infinity];
  if (!Array.isArray(clip) || clip.length !== 2) throw optionError(op, name, clip, "[low, high]");
  const [low, high] = clip as readonly unknown[];
  return [
    needNumber(op, `${name}[0]`, low, { infinite: true }),
    needNumber(op, `${name}[1]`, high, { infinite: true }),
  ];
}

/**
 * Puts a number per row on the row's last kept token, and adds values per token:
 *
 *     placed[t] = tokens[t] + scale·values[t],  + clip(row[b]) at the last kept token of row b
 *
 * 0 under the mask (see `over`). The number of a row without a kept token is not used.
 *
 * @param terms `row` (a reward), `tokens`, `values` (a penalty per token); at least one
 * @param options `shape` or `offsets` of the tokens
 * @returns one value per token, float64 if an input is, else float32; summed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function groupPlace(terms: GroupPlaceTerms, options: GroupPlaceOptions): FloatArray;
/** The same on a device, where a term lies. */
export function groupPlace(terms: Anywhere<GroupPlaceTerms>, options: Anywhere<GroupPlaceOptions>): DeviceFloatArray;
export function groupPlace(
  terms: Anywhere<GroupPlaceTerms>,
  anywhere: GroupPlaceOptions | Anywhere<GroupPlaceOptions>,
): AnyFloatArray {
  const options = anywhere as GroupPlaceOptions;
  return placeRows("groupPlace", terms as GroupPlaceTerms, options);
}
