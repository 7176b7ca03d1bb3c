/// <reference lib="esnext.disposable" preserve="true" />
// Arrays in the memory of a device.
import { hasMark, markedClass } from "./brand";
import type { DeviceHandle } from "./device-runtime";
import { DTYPE_CODE, type DType, type FloatDType, typedArrayName } from "./dtype";
import { dtypeError, shapeError, SurprisalError } from "./errors";
import { allocateHost, ELEMENT_BYTES, type HostArray, hostKind } from "./host-array";
import type { Stream } from "./stream";

/** float32 or float64 data on a device. */
export type DeviceFloatArray = DeviceArray<FloatDType>;

export interface ReadOptions {
  /** Rejects with the signal's reason once it aborts; the copy itself goes on, and `out` is unspecified. */
  readonly signal?: AbortSignal;
}

/** Where an array of a device comes from. */
interface Place {
  readonly stream: Stream;
  readonly handle: DeviceHandle;
  /** What all views of one memory share; the name is that of typed arrays, so that overlaps are found in the same way. */
  readonly buffer: object;
  readonly byteOffset: number;
}

function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** A size or a bound of a view, a whole number up to `limit`. */
function needIndex(op: string, name: string, value: unknown, low: number, high: number): number {
  if (Number.isInteger(value) && (value as number) >= low && (value as number) <= high) return value as number;
  throw shapeError(op, name, value, `an integer in [${low}, ${high}]`);
}

/**
 * An array in the memory of a device, made by `toDevice`, `deviceEmpty` or an op. Ops take it in place of a typed array, are
 * enqueued on its stream and return at once, with more of them; `read` waits. Its memory goes back when it and all its views
 * are disposed of or collected.
 */
export class DeviceArray<D extends DType = DType> {
  /** What the device takes; views have handles of their own. */
  readonly #handle: DeviceHandle;
  readonly #stream: Stream;
  #disposed = false;

  readonly dtype: D;
  readonly shape: readonly number[];
  /** Elements. */
  readonly length: number;
  readonly byteLength: number;
  /** Where a view begins in its memory. */
  readonly byteOffset: number;
  /** The same object for all views of one memory. */
  readonly buffer: object;

  /** @internal Use `toDevice` or `deviceEmpty`. */
  constructor(dtype: D, shape: readonly number[], { stream, handle, buffer, byteOffset }: Place) {
    this.dtype = dtype;
    this.shape = Object.freeze([...shape]);
    this.length = elements(shape);
    this.byteLength = this.length * ELEMENT_BYTES[dtype];
    this.byteOffset = byteOffset;
    this.buffer = buffer;
    this.#handle = handle;
    this.#stream = stream;
  }

  /** Whether a value is one. */
  static is(value: unknown): value is DeviceArray {
    return hasMark(value, MARK);
  }

  get backend(): "cuda" | "emulated" {
    return this.#stream.backend;
  }

  /** Number of the device. */
  get device(): number {
    return this.#stream.device;
  }

  /** Where ops on this array run; the device's own stream, once that one is disposed of. */
  get stream(): Stream {
    return this.#stream.living;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * What the runtime knows this array by. For ops.
   *
   * @internal
   */
  handle(op: string, name: string): DeviceHandle {
    if (!this.#disposed) return this.#handle;
    const message = `${op}: ${name} was disposed of; use it before, or keep a view`;
    throw new SurprisalError("ERR_SURPRISAL_DISPOSED", message, {
      op,
      name,
      got: "a disposed DeviceArray",
      want: "one that is not",
    });
  }

  /** Elements begin … end − 1 as one dimension, in the same memory. */
  view(begin = 0, end = this.length): DeviceArray<D> {
    needIndex("view", "begin", begin, 0, this.length);
    needIndex("view", "end", end, begin, this.length);
    return this.#share("view", [end - begin], begin * ELEMENT_BYTES[this.dtype]);
  }

  /** The same memory under another shape of as many elements. */
  reshape(shape: readonly number[]): DeviceArray<D> {
    if (!Array.isArray(shape)) throw shapeError("reshape", "shape", shape, "the sizes of its dimensions");
    shape.forEach((size, i) => needIndex("reshape", `shape[${i}]`, size, 0, Number.MAX_SAFE_INTEGER));
    if (elements(shape) !== this.length)
      throw shapeError("reshape", "shape", shape, `sizes whose product is ${this.length}, the number of elements`);
    return this.#share("reshape", shape, 0);
  }

  #share(op: string, shape: readonly number[], offset: number): DeviceArray<D> {
    const bytes = elements(shape) * ELEMENT_BYTES[this.dtype];
    const handle = this.stream.runtime.view(this.handle(op, "the array"), offset, bytes, DTYPE_CODE[this.dtype]);
    return new DeviceArray(this.dtype, shape, {
      stream: this.#stream,
      handle,
      buffer: this.buffer,
      byteOffset: this.byteOffset + offset,
    });
  }

  /**
   * Waits for the calls on the stream so far, and copies the elements into host memory.
   *
   * @param out memory of the array's type and length to reuse
   * @throws SurprisalError ERR_SURPRISAL_DISPOSED, _DTYPE or _SHAPE (out), and failures of the stream's calls: _RANGE, _VALUE
   * or _DEVICE
   */
  read(out?: HostArray<D>): HostArray<D> {
    const to = this.#needHost("read", out);
    this.stream.runtime.read(this.handle("read", "the array"), to);
    return to;
  }

  /** `read` off the event loop. */
  async readAsync(out?: HostArray<D>, { signal }: ReadOptions = {}): Promise<HostArray<D>> {
    signal?.throwIfAborted();
    const to = this.#needHost("readAsync", out);
    const copied = this.stream.runtime.readAsync(this.handle("readAsync", "the array"), to);
    if (!signal) {
      await copied;
      return to;
    }
    const { promise, release } = aborted(signal);
    try {
      await Promise.race([copied, promise]);
    } finally {
      release();
      copied.catch(() => undefined); // the race reports it, or no caller waits any more
    }
    return to;
  }

  /** Enqueues a copy of host memory into the array, which may change afterwards. */
  write(from: HostArray<D>): this {
    this.stream.runtime.write(this.handle("write", "the array"), this.#needHost("write", from, "from"));
    return this;
  }

  /** Enqueues a copy of another array of this type and length. */
  copyFrom(from: DeviceArray<D>): this {
    if (!DeviceArray.is(from) || from.dtype !== this.dtype)
      throw dtypeError("copyFrom", "from", from, `a DeviceArray of ${this.dtype}`);
    if (from.length !== this.length) throw shapeError("copyFrom", "from.length", from.length, `${this.length}`);
    needSameDevice("copyFrom", "from", from, this.stream);
    this.stream.runtime.copy(this.handle("copyFrom", "the array"), from.handle("copyFrom", "from"));
    return this;
  }

  /** Gives the memory back, once its views have. Later uses throw; a second time does nothing. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.stream.runtime.release(this.#handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #needHost(op: string, host: HostArray<D> | undefined, name = "out"): HostArray<D> {
    if (host === undefined && name === "out") return allocateHost(this.dtype, this.length);
    const kind = typedArrayName(host);
    const bytes = kind === "Uint8ClampedArray" ? "Uint8Array" : kind;
    if (bytes !== hostKind(this.dtype))
      throw dtypeError(op, name, host, `a ${hostKind(this.dtype)}, for ${this.dtype}`);
    const given = host as HostArray<D>;
    if (given.length === this.length) return given;
    throw shapeError(op, `${name}.length`, given.length, `${this.length}`);
  }
}

/** New memory, whose content is unspecified. */
export function allocateOn<D extends DType>(
  stream: Stream,
  dtype: D,
  shape: readonly number[],
  shared = false,
): DeviceArray<D> {
  const handle = stream.runtime.alloc(elements(shape) * ELEMENT_BYTES[dtype], DTYPE_CODE[dtype], shared);
  return new DeviceArray(dtype, shape, { stream, handle, buffer: {}, byteOffset: 0 });
}

/** Refuses an array of another device than the stream's. */
export function needSameDevice(op: string, name: string, array: DeviceArray, stream: Stream): void {
  if (array.backend === stream.backend && array.device === stream.device) return;
  const want = `memory of ${stream.backend} device ${stream.device}`;
  const got = `on ${array.backend} device ${array.device}`;
  const message = `${op}: ${name} is ${got}, expected ${want}, as the others; toDevice(array.read(), …) moves it`;
  throw new SurprisalError("ERR_SURPRISAL_BUFFER", message, { op, name, got, want });
}

const MARK = markedClass(DeviceArray, "DeviceArray");

function aborted(signal: AbortSignal): { readonly promise: Promise<never>; readonly release: () => void } {
  let onAbort = (): void => undefined;
  const promise = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort);
  });
  return { promise, release: () => signal.removeEventListener("abort", onAbort) };
}
