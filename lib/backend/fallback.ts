// What "auto" takes where no addon can be loaded: it says so, once, where that costs time.
import type { Backend, BackendName, BackendOps } from "./backend";
import { remedyFor, warn } from "./platform";
import { processState } from "./process-state";

/** Bytes of a call's largest array from which the warning is worth its line: smaller calls take well under a millisecond. */
export const LOUD_BYTES = 65536;

/** How many times longer than on cpu calls of that size take: bench/fallback.ts measures it (bench/results/fallback.json). */
export const SLOWDOWN = {
  wasm: { least: 1, most: 10 },
  js: { least: 2, most: 80 },
} as const;

const WARNING_CODE = "SURPRISAL_FALLBACK";

const state = processState("fallback", { silent: false, said: false });

/** `configure({ warnings })`. */
export function configureWarnings(wanted: boolean): void {
  state.silent = !wanted;
}

function largest(args: object): number {
  let bytes = 0;
  for (const value of Object.values(args)) if (ArrayBuffer.isView(value)) bytes = Math.max(bytes, value.byteLength);
  return bytes;
}

/** A backend in place of native code, in words. */
export function costOf(backend: BackendName): string {
  const { least, most } = backend === "wasm" ? SLOWDOWN.wasm : SLOWDOWN.js;
  const where = backend === "wasm" ? "WebAssembly" : "plain JavaScript";
  return `in ${where}, ${least} to ${most} times slower than its native code`;
}

function say(backend: BackendName, op: string, bytes: number, reason: string): void {
  const remedy = remedyFor(backend);
  if (remedy === undefined || state.said || state.silent || bytes < LOUD_BYTES) return;
  state.said = true;
  warn(
    `surprisal runs ${op} ${costOf(backend)}: ${reason}`,
    WARNING_CODE,
    `${remedy} configure({ backend: "${backend}" }) or configure({ warnings: false }) accepts it.`,
  );
}

/** The substitute, which warns at the first call that is large. */
export function warning(substitute: Backend, reason: string): Backend {
  const ops = Object.fromEntries(
    Object.entries(substitute.ops).map(([op, run]: [string, (args: never) => void]) => [
      op,
      (args: never) => {
        say(substitute.name, op, largest(args), reason);
        run(args);
      },
    ]),
  ) as unknown as BackendOps;
  return {
    ...substitute,
    ops,
    runAsync(op, args, signal) {
      say(substitute.name, op, largest(args), reason);
      return substitute.runAsync(op, args, signal);
    },
  };
}
