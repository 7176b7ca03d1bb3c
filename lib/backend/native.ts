// A native backend seen from TypeScript: one generic call, since the addon tells the fields of every op.
import type { Addon } from "./addon";
import type { Backend, BackendName, BackendOps, OpArgs, OpName } from "./backend";
import { nativeDevice } from "./native-device";
import { nativeError } from "./native-error";

type Fields = Readonly<Record<string, unknown>>;

/** Callers of one op that name its fields each in another order: so many of them are remembered. */
const ORDERS = 4;

/**
 * Puts the fields of a call where the addon reads them: numbers into one array of the addon's, arrays into a list, both in the
 * addon's order. A caller names its fields in the same order again and again, and in that order they are looked up fastest:
 * so it is remembered, with the place that each goes to.
 */
class Packing {
  private order: readonly string[] = [];
  /** Of the fields in that order: the place of a number; of an array -1 less its place; NaN: the op has no such field. */
  private places: readonly number[] = [];
  private orders = 0;

  constructor(
    private readonly memory: Float64Array,
    private readonly numbers: readonly string[],
    private readonly arrays: readonly string[],
  ) {}

  /** The arrays, behind `before` places for what the addon wants first. */
  pack(fields: Fields, before: number): unknown[] {
    const { order, places, memory } = this;
    const values = new Array<unknown>(before + this.arrays.length);
    let k = 0;
    for (const name in fields) {
      if (name !== order[k]) return this.packByName(fields, values, before);
      const value = fields[name];
      const place = places[k++]!;
      if (place >= 0) memory[place] = value as number;
      else if (place < 0) values[before - 1 - place] = value;
    }
    return k > 0 && k === order.length ? values : this.packByName(fields, values, before);
  }

  private packByName(fields: Fields, values: unknown[], before: number): unknown[] {
    const { numbers, arrays, memory } = this;
    for (let i = 0; i < numbers.length; ++i) memory[i] = fields[numbers[i]!] as number;
    for (let i = 0; i < arrays.length; ++i) values[before + i] = fields[arrays[i]!];
    if (this.orders < ORDERS) this.remember(Object.keys(fields));
    return values;
  }

  private remember(order: readonly string[]): void {
    const { numbers, arrays } = this;
    // What lacks a field is not remembered: its place would keep what the call before left there.
    if (![...numbers, ...arrays].every((name) => order.includes(name))) return;
    this.orders += 1;
    this.order = order;
    this.places = order.map((name) => (numbers.includes(name) ? numbers.indexOf(name) : arrays.includes(name) ? -1 - arrays.indexOf(name) : NaN));
  }
}

/** A number that ends a call on another thread once it is not 0: when the signal aborts. */
function stopOf(signal: AbortSignal | undefined): { readonly stop: Int32Array | null; readonly release: () => void } {
  if (!signal) return { stop: null, release: () => undefined };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const abort = (): void => void Atomics.store(stop, 0, 1);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return { stop, release: () => signal.removeEventListener("abort", abort) };
}

/** The ops of an open session in host memory: its calls end early when their signal aborts. */
export function hostBackend(name: BackendName, addon: Addon, session: number): Backend {
  return withOps(name, addon, session, true);
}

/** The ops of an open session on a device with memory of its own. */
export function deviceBackend(name: "cuda" | "emulated", addon: Addon, session: number, device: number): Backend {
  const open = (opened: number): Backend => deviceBackend(name, addon, opened, device);
  return { ...withOps(name, addon, session, false), device: nativeDevice(name, device, addon, session, open) };
}

function withOps(name: BackendName, addon: Addon, session: number, stops: boolean): Backend {
  const ops: Record<string, (args: object) => void> = {};
  for (const [op, { numbers, arrays, call }] of Object.entries(addon.ops)) {
    const packing = new Packing(addon.numbers, numbers, arrays);
    ops[op] = (args) => {
      const values = packing.pack(args as Fields, 1);
      values[0] = session;
      const status = call(...values);
      if (status !== 0) throw nativeError(name, op, status, addon.lastError());
    };
  }
  return {
    name,
    stops,
    // The addon lists its ops at run time; test/repo holds the list against this type's.
    ops: ops as unknown as BackendOps,
    async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
      const { numbers, arrays, callAsync } = addon.ops[op]!;
      const packing = new Packing(addon.numbers, numbers, arrays);
      const { stop, release } = stopOf(signal);
      try {
        const values = packing.pack(args as unknown as Fields, 2);
        values[0] = session;
        values[1] = stop;
        const answer = callAsync(...values);
        if (typeof answer === "number") throw nativeError(name, op, answer, addon.lastError());
        const failure = await answer;
        signal?.throwIfAborted();
        if (failure) throw nativeError(name, op, failure.status, failure.error);
      } finally {
        release();
      }
    },
  };
}
