// Which public functions take DeviceArrays, and why the others do not. Every op says so of itself, where it is defined.

const takers = new Set<string>();
const reasons = new Map<string, string>();
export const UNSAID = "part of it is computed in host memory";

/** For functions that run where their arrays lie. All others refuse DeviceArrays. */
export function takesDeviceArrays(...ops: readonly string[]): void {
  for (const op of ops) takers.add(op);
}

/** For a function that needs its arrays in host memory, with the reason, which is part of its refusal. */
export function needsHostArrays(op: string, reason: string): void {
  reasons.set(op, reason);
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
  return {
    refused: true,
    reason: reasons.get(op) ?? UNSAID,
    instead: "give it array.read(), or await array.readAsync()",
  };
}
