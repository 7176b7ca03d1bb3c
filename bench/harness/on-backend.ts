// The package on another backend, for the same work that is timed on the CPU backend.
import type { Library } from "./build";

type Call = (...args: unknown[]) => unknown;

/** Every call that asks for the backend "cpu" asks for that one. */
export function onBackend(backend: "js" | "wasm", lib: Library): Library {
  const redirected = (argument: unknown): unknown =>
    typeof argument === "object" && argument !== null && "backend" in argument && argument.backend === "cpu"
      ? { ...argument, backend }
      : argument;
  return Object.fromEntries(
    Object.entries(lib).map(([name, member]: [string, unknown]) => [
      name,
      // A class is no call of an op.
      typeof member === "function" && /^[a-z]/.test(name)
        ? (...args: unknown[]) => (member as Call)(...args.map(redirected))
        : member,
    ]),
  ) as unknown as Library;
}
