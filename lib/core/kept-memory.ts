// Memory that nobody sees but the call that uses it.
import { isInArena } from "./arena";

/** One that can be copied. */
type Copied = ArrayBufferView & { slice(): Copied };

/** Of longer arrays memory is worth more than the time to make them. */
const MOST_KEPT = 4096;

/**
 * What `make` makes for a length: that of the last call where the length was the same, since to make a small array costs more than a small
 * call on it. Its content is what that call left there.
 */
export function keepingLast<Made>(make: (length: number) => Made): (length: number) => Made {
  let kept = { length: 0, made: make(0) };
  return (length) => {
    if (length === kept.length) return kept.made;
    const made = make(length);
    if (length <= MOST_KEPT) kept = { length, made };
    return made;
  };
}

/** Float64 numbers that V8 keeps in an array itself: one that native code asks for its memory gets a buffer first, which costs more. */
export const MOST_WITHOUT_BUFFER = 8;

/**
 * New arrays of a length, filled. Short ones that no arena gives are copies of kept ones: to copy is cheaper than to give each a
 * buffer. Nothing else may run while `fill` does.
 */
export function fillingNew<Arrays extends { readonly [Name in keyof Arrays]: Copied }>(
  make: (length: number) => Arrays,
): (length: number, fill: (arrays: Arrays) => void) => Arrays {
  const kept = keepingLast(make);
  return (length, fill) => {
    const short = length <= MOST_WITHOUT_BUFFER && !isInArena();
    const arrays = short ? kept(length) : make(length);
    fill(arrays);
    if (!short) return arrays;
    const copies: Partial<Record<keyof Arrays, Copied>> = {};
    for (const name in arrays) copies[name] = arrays[name].slice();
    return copies as Arrays;
  };
}
