// Calls that can find out in their middle that an input has no result: what they were given to write into stays as it was.
import { keepingLast } from "./kept-memory";

type Array = Uint8Array | Int32Array;

/** The arguments of a call whose outputs are its own until it has ended well. */
export interface HeldBack<Args> {
  readonly args: Args;
  /** Puts the results where the caller wants them. */
  readonly release: () => void;
}

const keptBytes = keepingLast((length) => new Uint8Array(length));
const keptInts = keepingLast((length) => new Int32Array(length));

/** A copy, in memory that is kept where the call ends before another begins. */
function copyOf(array: Array, inTurn: boolean): Array {
  if (!inTurn) return array.slice();
  const copy = array instanceof Int32Array ? keptInts(array.length) : keptBytes(array.length);
  copy.set(array);
  return copy;
}

/**
 * The call, its arguments now with memory of its own in place of what its caller gave for outputs. An array of a device stays:
 * its stream reports such an input later.
 *
 * @param given the outputs of the caller, by the name of the argument; undefined: the call made that one itself
 * @param inTurn the call ends before another begins, and no two of its outputs are of one type: the kept memory is one array a type
 */
export function holdBack<Args extends object>(
  args: Args,
  given: { readonly [Name in keyof Args]?: Array | undefined },
  inTurn: boolean,
): HeldBack<Args> {
  const outputs: { readonly own: Array; readonly made: Array }[] = [];
  for (const name in given) {
    const own: Array | undefined = given[name];
    if (!own || !ArrayBuffer.isView(own)) continue;
    const made = copyOf(own, inTurn);
    (args as Record<string, unknown>)[name] = made;
    outputs.push({ own, made });
  }
  return {
    args,
    release: () => {
      for (const { own, made } of outputs) own.set(made);
    },
  };
}
