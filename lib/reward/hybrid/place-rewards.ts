// A reward per row put on one of the row's tokens.
import { needFloats, needIds, optionalMask, type TokenIds } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout } from "../../core/row-layout";
import { groupPlace } from "../../ops/group";
import { type PresetOption, resolvePreset } from "../../presets";

/** Where a reward per row goes. */
interface PlacementConventions {
  /**
   * `"kept"`: the row's last kept token; a row without one drops its reward. `"attention"`: column Σ attentionMask − 1, dropped outside of the row.
   * `"unpadded"`: column n − 1 with n the tokens that are not padding, 0 for none. Default `"kept"`.
   */
  readonly column?: "kept" | "attention" | "unpadded";
}

const COLUMNS = ["kept", "attention", "unpadded"] as const;

export interface PlaceRewardsOptions extends PlacementConventions, RowLayout, PresetOption<"placeRewards"> {
  /** 1 = a token of the response. Default: all 1. Read by `column: "kept"`. */
  readonly mask?: Uint8Array;
  /** Of prompt and response, [rows, P + T]. Needed by `column: "attention"`. */
  readonly attentionMask?: Uint8Array;
  /** Ids of the responses, [n]. Needed by `column: "unpadded"`, with `padTokenId`. */
  readonly tokens?: TokenIds;
  readonly padTokenId?: number;
}

/**
 * Rewards per token from one reward per row:
 *
 *     out[b, column] = r_b,  0 elsewhere;   column = the last kept token of row b
 *
 * @param rewards one per row
 * @param options `shape` or `offsets` of the tokens; the two other columns need `shape`
 * @returns one per token, in the type of `rewards`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function placeRewards(rewards: FloatArray, options: PlaceRewardsOptions): FloatArray {
  const op = "placeRewards";
  const resolved = resolvePreset(op, options.preset, options);
  const column = COLUMNS[needWord(op, "column", resolved.column ?? "kept", COLUMNS)]!;
  const { B, T, n, meaning } = needRows(op, resolved);
  const given = needFloats(op, "rewards", rewards, B, "one per row");
  const { shape, offsets, mask } = resolved;
  if (column === "kept") return groupPlace({ row: given }, { shape, offsets, mask });

  if (!shape) throw optionError(op, "shape", shape, `[rows, tokens] with column "${column}"`);
  const counts =
    column === "attention"
      ? attended(op, resolved.attentionMask, B)
      : unpadded(
          needIds(op, "tokens", resolved.tokens, n, meaning),
          needNumber(op, "padTokenId", resolved.padTokenId, { integer: true }),
          B,
          T,
        );
  const out = allocateFloat(floatDType(given), n);
  counts.forEach((count, b) => {
    if (count >= 1 && count <= T) out[b * T + count - 1] = given[b]!;
  });
  return out;
}

function attended(op: string, attentionMask: Uint8Array | undefined, B: number): number[] {
  const width = attentionMask && B > 0 ? attentionMask.length / B : 0;
  const attention = optionalMask(
    op,
    "attentionMask",
    attentionMask,
    B * Math.floor(width),
    "[rows, prompt + response]",
  );
  if (!attention) throw optionError(op, "attentionMask", attentionMask, 'a Uint8Array with column "attention"');
  return Array.from(
    { length: B },
    (_, b) => attention.subarray(b * width, (b + 1) * width).filter((flag) => flag !== 0).length,
  );
}

/** At least 1: an empty response counts as one token. */
function unpadded(ids: ArrayLike<number>, padTokenId: number, B: number, T: number): number[] {
  return Array.from({ length: B }, (_, b) => {
    let count = 0;
    for (let t = 0; t < T; ++t) if (ids[b * T + t] !== padTokenId) ++count;
    return Math.max(1, count);
  });
}
