// Calls that can find out in their middle that an input has no result: what they were given to write into stays as it was.

type Array = Uint8Array | Int32Array;

/** The arguments of a call whose outputs are its own until it has ended well. */
export interface HeldBack<Args> {
  readonly args: Args;
  /** Puts the results where the caller wants them. */
  readonly release: () => void;
}

/**
 * The call with memory of its own in place of what its caller gave for outputs. An array of a device stays: its stream reports
 * such an input later.
 *
 * @param given the outputs of the caller, by the name of the argument; undefined: the call made that one itself
 */
export function holdBack<Args extends object>(
  args: Args,
  given: { readonly [Name in keyof Args]?: Array | undefined },
): HeldBack<Args> {
  const outputs: { readonly own: Array; readonly made: Array }[] = [];
  const held = { ...args };
  for (const name in given) {
    const own: Array | undefined = given[name];
    if (!own || !ArrayBuffer.isView(own)) continue;
    const made = own.slice();
    (held as Record<string, unknown>)[name] = made;
    outputs.push({ own, made });
  }
  if (outputs.length === 0) return { args, release: () => {} };
  return {
    args: held,
    release: () => {
      for (const { own, made } of outputs) own.set(made);
    },
  };
}
