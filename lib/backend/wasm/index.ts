// The WebAssembly backend: native/cpu compiled to 16-byte vectors, on the calling thread, in a memory of its own.
//
// Every call works on copies. One whose rows are independent of each other (CUT_BY_ROWS) is made a block of rows at a time, so
// that it takes little memory beside its arrays; of all others the arrays are copied whole.
import { SurprisalError } from "../../core/errors";
import type { Backend, BackendOps, OpName } from "../backend";
import { CUT_BY_ROWS, HAND_OVER, type CutOp } from "../contract/ops";
import { onThisThread } from "../event-loop";
import { cutRows } from "../cut-rows";
import { nativeError } from "../native-error";
import { WasmInstance } from "./instance";
import type { WasmModule } from "./module";

/** Bytes of a block: small enough to stay in a core's cache between copying and computing. */
export const BLOCK_BYTES = 2 ** 20;

/** Memory only grows. An instance that has more than this after a call makes way for a new one. */
export const KEPT_BYTES = 2 ** 26;

type AnyArgs = Readonly<Record<string, unknown>>;
type HandOver = (
  call: (...values: unknown[]) => number,
  numbers: Float64Array,
  session: number,
  stop: null,
  args: unknown,
) => number;
type Arrays = Parameters<WasmInstance["run"]>[1];

export function wasmBackend({ module, first }: WasmModule): Backend {
  let current: WasmInstance | undefined = first;

  function handOver(name: OpName, args: unknown, what: "run" | "check"): void {
    const instance = (current ??= new WasmInstance(module));
    const op = instance.ops.indexOf(name);
    let status: number;
    try {
      const call = (_session: unknown, _stop: unknown, ...arrays: unknown[]): number =>
        instance[what](op, arrays as Arrays);
      status = (HAND_OVER[name] as HandOver)(call, instance.numbers, 0, null, args);
    } catch (cause) {
      current = undefined; // a trap leaves the memory in any state
      const reason = String((cause as { readonly message?: unknown }).message);
      throw new SurprisalError("ERR_SURPRISAL_DEVICE", `${name}: the WebAssembly module failed: ${reason}`, {
        op: name,
        reason,
      });
    }
    const text = status === 0 ? "" : instance.lastError;
    if (instance.memoryBytes > KEPT_BYTES) current = undefined;
    if (status !== 0) throw nativeError("wasm", name, status, text);
  }

  function runOp(name: OpName, args: unknown): void {
    const step = rowsOfBlock(name, args as AnyArgs);
    if (step === undefined) return handOver(name, args, "run");
    handOver(name, args, "check");
    const op = name as CutOp;
    const count = (args as AnyArgs)[CUT_BY_ROWS[op].rows] as number;
    for (let begin = 0; begin < count; begin += step)
      handOver(name, cutRows(op, args as never, begin, Math.min(count, begin + step)), "run");
  }

  const named = Object.keys(HAND_OVER).map(
    (name) => [name, (args: unknown): void => runOp(name as OpName, args)] as const,
  );
  const ops = Object.fromEntries(named) as unknown as BackendOps; // an entry each of HAND_OVER, which has all
  return { name: "wasm", stops: false, ops, runAsync: onThisThread(ops) };
}

/** How many rows go into a block, or undefined where the whole call does, or its rows depend on each other. */
function rowsOfBlock(name: OpName, args: AnyArgs): number | undefined {
  if (!(name in CUT_BY_ROWS)) return undefined;
  const { rows, widths } = CUT_BY_ROWS[name as CutOp];
  let bytes = 0;
  for (const [array, width] of Object.entries((widths as (a: unknown) => Record<string, number>)(args)))
    bytes += width * ((args[array] as { BYTES_PER_ELEMENT?: number } | null)?.BYTES_PER_ELEMENT ?? 0);
  const count = args[rows] as number;
  return bytes * count > BLOCK_BYTES && count > 1 ? Math.max(1, Math.floor(BLOCK_BYTES / bytes)) : undefined;
}
