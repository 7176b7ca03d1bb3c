// Calls a listener now and then, not for every piece.

const INTERVAL = 100;

/** A function that calls `tell` if the last call is 100 ms ago; `force` calls it anyway. */
export function paced(tell: (() => void) | undefined): (force?: boolean) => void {
  if (!tell) return () => undefined;
  let last = performance.now();
  return (force = false) => {
    const now = performance.now();
    if (!force && now - last < INTERVAL) return;
    last = now;
    tell();
  };
}
