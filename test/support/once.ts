/** A definition that is worked out once for the same arguments: each backend is held against it. Nobody may write into its answers. */
export function once<A extends readonly unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  const known = new Map<string, R>();
  return (...args) => {
    const key = JSON.stringify(args);
    if (!known.has(key)) known.set(key, work(...args));
    return known.get(key)!;
  };
}
