// Which public functions take DeviceArrays, and why the others do not. Every op says so of itself, where it is defined.

const takers = new Set<string>();
const refusals = new Map<string, { readonly reason: string; readonly instead: string }>();
export const UNSAID = "part of it is computed in host memory";
const READ = "give it array.read(), or await array.readAsync()";

/** For functions that run where their arrays lie. All others refuse DeviceArrays. */
export function takesDeviceArrays(...ops: readonly string[]): void {
  for (const op of ops) takers.add(op);
}

/** For a function that needs its arrays in host memory, with the reason and what to do, which are part of its refusal. */
export function needsHostArrays(op: string, reason: string, instead = READ): void {
  refusals.set(op, { reason, instead });
}

export interface DeviceRefusal {
  readonly refused: boolean;
  readonly reason: string;
  /** What to do. */
  readonly instead: string;
}

/** What the public function `op` says to a DeviceArray. */
export function deviceRefusal(op: string): DeviceRefusal {
  if (takers.has(op)) return { refused: false, reason: "", instead: "" };
  const plain = op.endsWith("Async") ? op.slice(0, -"Async".length) : "";
  if (takers.has(plain))
    return {
      refused: true,
      reason: "work on a device is asynchronous already",
      instead: `call ${plain}, and await readAsync() of its results`,
    };
  return { refused: true, ...(refusals.get(op) ?? { reason: UNSAID, instead: READ }) };
}
