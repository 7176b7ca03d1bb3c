// Every call of a public function, written down.

export type Args = readonly unknown[];
export type Public = (...args: Args) => unknown;

export interface Call {
  readonly name: string;
  readonly run: Public;
  readonly args: Args;
  readonly result: unknown;
}

export const calls: Call[] = [];

/** The library as it is, but that its calls are recorded. */
export function recording(actual: Readonly<Record<string, unknown>>): object {
  const recorded = Object.entries(actual).map(([name, run]) => {
    if (typeof run !== "function" || !/^[a-z]/.test(name)) return [name, run];
    const record: Public = (...args) => {
      const result = (run as Public)(...args);
      calls.push({ name, run: run as Public, args, result });
      return result;
    };
    return [name, record];
  });
  return Object.fromEntries(recorded) as object;
}
