// How often a row repeats itself: its n-grams, and how many of them are different.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or, lengthOf, needIds, optionalMask, type TokenIds } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DeviceSummary } from "../../core/device-summary";
import type { Anywhere } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import type { RowLayout } from "../../core/row-layout";
import { needSpanRows } from "./span-rows";

takesDeviceArrays("countNgrams");

export interface CountNgramsOptions extends RowLayout, BackendOption {
  /** Tokens of an n-gram, an integer >= 1. */
  readonly length: number;
  /** 1 = a token of an n-gram; none spans a masked token, which is not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** One per row. */
export interface Ngrams {
  /** n-grams: stretches of `length` kept tokens, one from each token where there is one. */
  readonly totals: Int32Array;
  /** How many different ones. */
  readonly distinct: Int32Array;
}

function ngramsOf(counts: Int32Array): Ngrams {
  return { totals: counts.filter((_, i) => i % 2 === 0), distinct: counts.filter((_, i) => i % 2 === 1) };
}

/** The same on a device, where the first array lies. */
export function countNgrams(tokens: DeviceArray<"int32">, options: Anywhere<CountNgramsOptions>): DeviceSummary<Ngrams>;
/**
 * Counts the n-grams of token ids of each row, and the different ones among them. They are compared id by id: no hash decides.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say; without either one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function countNgrams(tokens: TokenIds, options: CountNgramsOptions): Ngrams;
export function countNgrams(
  tokens: TokenIds | DeviceArray<"int32">,
  anywhere: CountNgramsOptions | Anywhere<CountNgramsOptions>,
): Ngrams | DeviceSummary<Ngrams> {
  const options = anywhere as CountNgramsOptions;
  const op = "countNgrams";
  const stream = streamOf(op, options, tokens, options.mask);
  const rows = needSpanRows(op, options, lengthOf(tokens));
  const { n, B, T, offsets, meaning } = rows;
  const ids = needIds(op, "tokens", tokens, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const length = needNumber(op, "length", options.length, { min: 1, integer: true });
  const counts = int32Or(op, "", undefined, 2 * B, stream);
  selectBackend(op, options.backend, stream).ops.delimNgrams({ tokens: ids, mask, offsets, n, B, T, length, counts });
  if (stream) return new DeviceSummary([counts as unknown as DeviceArray], ([read]) => ngramsOf(read as Int32Array));
  return ngramsOf(counts);
}
