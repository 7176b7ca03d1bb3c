// A call of a public op on a backend, that can be printed.
import type { BackendName } from "../../lib";

/** The arguments as they are printed, and the call. */
export interface Drawn {
  readonly given: readonly unknown[];
  /** `args`: others than those given, of the same kinds. */
  readonly run: (backend: BackendName, args?: readonly unknown[]) => unknown;
}

export type Options = Record<string, unknown>;
type Op = (...args: never[]) => unknown;

/** `args` ahead of the options. What the types would refuse here is what a random call is to try. */
export function calling(op: Op, args: readonly unknown[], options: Options): Drawn {
  const given = [...args, Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))];
  return {
    given,
    run: (backend, args = given) =>
      (op as unknown as (...args: unknown[]) => unknown)(...args.slice(0, -1), {
        ...(args.at(-1) as Options),
        backend,
      }),
  };
}
