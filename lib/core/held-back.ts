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
  const outputs = Object.entries<Array | undefined>(given as Record<string, Array | undefined>).flatMap(([name, own]) =>
    own && ArrayBuffer.isView(own) ? [{ name, own, made: own.slice() }] : [],
  );
  if (outputs.length === 0) return { args, release: () => {} };
  return {
    args: { ...args, ...Object.fromEntries(outputs.map(({ name, made }) => [name, made])) },
    release: () => {
      for (const { own, made } of outputs) own.set(made);
    },
  };
}
