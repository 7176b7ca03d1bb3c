// Streams and the backends behind them.
import { DeviceArray, needSameDevice } from "../core/device-array";
import { dtypeError, optionError, SurprisalError } from "../core/errors";
import { Stream } from "../core/stream";
import type { Backend, BackendOps } from "./backend";
import { processState } from "./process-state";

const state = processState("streams", {
  backends: new WeakMap<Stream, Backend>(),
  homes: new WeakMap<Backend, Stream>(),
  /** Whether there has been a stream in this process: without one there is no DeviceArray, and no call looks for any. */
  used: false,
});

/** What an op sees of a DeviceArray: the handle that the runtime knows it by. */
function handlesOf(op: string, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const handles: Record<string, unknown> = {};
  for (const name in args) {
    const value = args[name];
    handles[name] = DeviceArray.is(value) ? value.handle(op, name) : value;
  }
  return handles;
}

/** The ops of a backend, on DeviceArrays. */
function onHandles(backend: Backend): Backend {
  const ops: Record<string, (args: object) => void> = {};
  for (const [op, run] of Object.entries(backend.ops) as [string, (args: object) => void][])
    ops[op] = (args) => run(handlesOf(op, args as Readonly<Record<string, unknown>>));
  return { ...backend, ops: ops as unknown as BackendOps };
}

function streamOn(op: string, backend: Backend, home?: Stream): Stream {
  const { device } = backend;
  if (!device) throw optionError(op, "backend", backend.name, '"cuda" or "emulated", which have memory of their own');
  const stream = new Stream(device, home);
  state.used = true;
  state.backends.set(stream, onHandles(backend));
  return stream;
}

/** The device's own stream. */
export function homeStream(op: string, backend: Backend): Stream {
  let home = state.homes.get(backend);
  if (!home) state.homes.set(backend, (home = streamOn(op, backend)));
  return home;
}

/** A new stream beside the device's own. */
export function openStream(op: string, backend: Backend): Stream {
  const home = homeStream(op, backend);
  return streamOn(op, backend.device!.openStream(), home);
}

/** Runs ops on a stream. */
export function streamBackend(stream: Stream): Backend {
  return state.backends.get(stream)!;
}

/** What decides where a call runs, beside its arrays. */
interface CallOptions {
  readonly backend?: unknown;
  readonly stream?: unknown;
  readonly collective?: unknown;
  readonly out?: unknown;
}

type Named = Readonly<Record<string, unknown>>;

/** The outputs that a caller gave by name. One that is itself the output goes to streamOf as an array. */
function outputsOf({ out }: CallOptions): Named {
  return out == null || ArrayBuffer.isView(out) || DeviceArray.is(out) ? {} : (out as Named);
}

/** The first DeviceArray among inputs and outputs. Asked of every call on host arrays: it makes no lists. */
function firstOnDevice(arrays: readonly unknown[], { out }: CallOptions): DeviceArray | undefined {
  for (const array of arrays) if (array != null && !ArrayBuffer.isView(array) && DeviceArray.is(array)) return array;
  if (out == null || ArrayBuffer.isView(out)) return undefined;
  for (const name in out) {
    const array = (out as Named)[name];
    if (array != null && !ArrayBuffer.isView(array) && DeviceArray.is(array)) return array;
  }
  return undefined;
}

function needStream(op: string, { stream, collective }: CallOptions): Stream | undefined {
  if (stream !== undefined && !(stream instanceof Stream))
    throw optionError(op, "stream", stream, "what createStream() gave");
  if (stream?.disposed) {
    const details = { op, name: "stream", got: "a disposed stream", want: "one that is not" };
    throw new SurprisalError("ERR_SURPRISAL_DISPOSED", `${op}: stream was disposed of`, details);
  }
  if (collective != null)
    throw optionError(
      op,
      "collective",
      collective,
      "none with DeviceArrays",
      "workers add up in host memory: read() the arrays",
    );
  return stream;
}

function callStream(op: string, options: CallOptions, arrays: readonly unknown[], first: DeviceArray): Stream {
  const stream = needStream(op, options) ?? first.stream;
  for (const array of arrays) if (DeviceArray.is(array)) needSameDevice(op, "an array", array, stream);
  const { backend } = options;
  const named = [backend].flat();
  if (backend !== undefined && backend !== "auto" && !named.includes(stream.backend))
    throw optionError(
      op,
      "backend",
      backend,
      `"${stream.backend}" or nothing: a call runs where its DeviceArrays lie`,
      "read() them to compute elsewhere",
    );
  for (const [name, array] of Object.entries(outputsOf(options)))
    if (DeviceArray.is(array)) needSameDevice(op, `out.${name}`, array, stream);
    else if (array !== undefined)
      throw dtypeError(op, `out.${name}`, array, "a DeviceArray: results of DeviceArrays stay on the device");
  return stream;
}

/**
 * The stream of a call: where its DeviceArrays lie, or the one that its options name; null where all arrays are in host
 * memory. An op calls this first, with every array that it takes.
 */
export function streamOf(op: string, options: CallOptions, ...arrays: readonly unknown[]): Stream | null {
  const first = state.used ? firstOnDevice(arrays, options) : undefined;
  if (first) return callStream(op, options, arrays, first);
  if (options.stream !== undefined)
    throw optionError(op, "stream", options.stream, "nothing without a DeviceArray", "toDevice(array) makes one");
  return null;
}
