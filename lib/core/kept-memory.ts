// Memory that nobody sees but the call that uses it.

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
