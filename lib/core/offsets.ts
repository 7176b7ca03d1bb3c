// Offsets of packed rows and of consecutive groups: from 0 on, never down.
import { rangeError, SurprisalError } from "./errors";

/** What is found of offsets whose first is 0: how far apart all are, else one of these. */
const UNEVEN = -1;
const DOWN = -2;

/** Finds that in native code; undefined where none is loaded. */
type FindSpacing = (offsets: Int32Array) => number | undefined;

/** From so many offsets on the way into native code is shorter than a look at each. */
const MANY = 512;

let findNatively: FindSpacing | undefined;

/** Says who finds spacings in native code: what knows the addon. */
export function spacingsBy(given: FindSpacing): void {
  findNatively = given;
}

/** How far apart all offsets are, else UNEVEN. Four at a time: beside a native op the look itself costs. */
function evenSpacing(offsets: Int32Array): number {
  const rows = offsets.length - 1;
  const size = rows > 0 ? offsets[1]! : 0;
  // Sums wrap around, but not where the last one is right: they only grow up to it.
  if (size < 0 || offsets[rows] !== rows * size) return UNEVEN;
  let uneven = 0;
  let want = 0;
  let b = 0;
  for (; b + 3 <= rows; b += 4) {
    uneven |=
      (offsets[b]! ^ want) |
      (offsets[b + 1]! ^ (want + size)) |
      (offsets[b + 2]! ^ (want + 2 * size)) |
      (offsets[b + 3]! ^ (want + 3 * size));
    want = (want + 4 * size) | 0;
  }
  for (; b <= rows; ++b) {
    uneven |= offsets[b]! ^ want;
    want = (want + size) | 0;
  }
  return uneven === 0 ? size : UNEVEN;
}

/** Whether an offset is below the one ahead of it; the first one is 0. Without a branch: of numbers >= 0 a difference is an int32. */
function goDown(offsets: Int32Array): boolean {
  let signs = 0;
  let before = 0;
  for (let b = 1; b < offsets.length; ++b) {
    const offset = offsets[b]!;
    signs |= offset | (offset - before);
    before = offset;
  }
  return signs < 0;
}

function spacingOf(offsets: Int32Array): number {
  const found = offsets.length < MANY ? undefined : findNatively?.(offsets);
  if (found !== undefined) return found;
  const spacing = evenSpacing(offsets);
  return spacing === UNEVEN && goDown(offsets) ? DOWN : spacing;
}

/**
 * Offsets from 0, never down. Where they must end is checked against the arrays.
 *
 * @returns how far apart they are, where that is the same everywhere, else −1
 */
export function checkOffsets(op: string, name: string, offsets: Int32Array): number {
  if (offsets.length === 0)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: ${name} is empty, expected one entry more than rows; no rows is [0]`,
      {
        op,
        name,
        got: 0,
        want: "one entry more than rows",
      },
    );
  if (offsets[0] !== 0) throw rangeError(op, `${name}[0]`, offsets[0], "0");
  const spacing = spacingOf(offsets);
  if (spacing === DOWN) {
    const b = offsets.findIndex((offset, k) => k > 0 && offset < offsets[k - 1]!);
    throw rangeError(op, `${name}[${b}]`, offsets[b], `>= ${offsets[b - 1]!} (offsets never go down)`);
  }
  return spacing;
}
