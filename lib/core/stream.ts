/// <reference lib="esnext.disposable" preserve="true" />
// Work of a device in order.
import { markedClass } from "./brand";
import type { DeviceRuntime, EventHandle, GraphHandle } from "./device-runtime";
import { optionError, SurprisalError } from "./errors";

/**
 * A queue of work on one device. Calls on one stream run in their order; two streams may overlap, but a use of an
 * array on another stream than the last waits for that one. Made by `createStream`; each device has one of its own that
 * `toDevice` uses.
 */
export class Stream {
  readonly #runtime: DeviceRuntime;
  readonly #home: Stream | undefined;
  #disposed = false;

  static {
    markedClass(this, "Stream");
  }

  /** @internal Use `createStream`. `home`: the device's own stream, which this one is where it is undefined. */
  constructor(runtime: DeviceRuntime, home?: Stream) {
    this.#runtime = runtime;
    this.#home = home;
  }

  get backend(): "cuda" | "emulated" {
    return this.#runtime.backend;
  }

  /** Number of the device. */
  get device(): number {
    return this.#runtime.device;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Whether everything asked of it has run. */
  get done(): boolean {
    return this.#use("done").done();
  }

  /** @internal */
  get runtime(): DeviceRuntime {
    return this.#use("stream");
  }

  /** This stream, or after it is disposed of the device's own. @internal */
  get living(): Stream {
    return this.#disposed ? this.#home! : this;
  }

  #use(op: string): DeviceRuntime {
    if (!this.#disposed) return this.#runtime;
    const details = { op, name: "the stream", got: "a disposed stream", want: "one that is not" };
    throw new SurprisalError("ERR_SURPRISAL_DISPOSED", `${op}: the stream was disposed of`, details);
  }

  /** Waits, and throws what went wrong since the last report. */
  sync(): void {
    this.#use("sync").sync();
  }

  /** `sync` off the event loop. */
  async syncAsync(): Promise<void> {
    await this.#use("syncAsync").syncAsync();
  }

  /** A mark behind everything asked for so far. */
  record(): DeviceEvent {
    const runtime = this.#use("record");
    return new DeviceEvent(runtime, runtime.recordEvent());
  }

  /** Later calls on this stream run after the event, which may be another stream's. Does not wait here. */
  wait(event: DeviceEvent): void {
    if (!(event instanceof DeviceEvent)) throw optionError("wait", "event", event, "what record() gave");
    this.#use("wait").waitEvent(event.handle);
  }

  /**
   * Records the calls of `work` on this stream instead of running them. The arrays that it makes belong to the graph: a launch
   * fills them again. Reading is refused meanwhile, and nothing may throw: then there is no graph.
   */
  capture<Result>(work: () => Result): Graph<Result> {
    const runtime = this.#use("capture");
    runtime.beginCapture();
    let result: Result;
    try {
      result = work();
    } catch (error) {
      try {
        runtime.releaseGraph(runtime.endCapture());
      } catch {
        // The first failure is the one to tell.
      }
      throw error;
    }
    return new Graph(runtime, runtime.endCapture(), result);
  }

  /** Waits and gives the queue back. Its arrays stay, and go on with the device's own stream, which cannot be disposed of. */
  dispose(): void {
    if (this.#disposed) return;
    if (!this.#home) throw optionError("dispose", "stream", "the device's own", "one that createStream made");
    this.#disposed = true;
    this.#runtime.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** A point in the work of a stream. */
export class DeviceEvent {
  readonly #runtime: DeviceRuntime;
  /** @internal */
  readonly handle: EventHandle;

  static {
    markedClass(this, "DeviceEvent");
  }

  /** @internal Use `stream.record()`. */
  constructor(runtime: DeviceRuntime, handle: EventHandle) {
    this.#runtime = runtime;
    this.handle = handle;
  }

  /** Whether the stream has come past it. */
  get done(): boolean {
    return this.#runtime.eventDone(this.handle);
  }

  /** Waits for it on this thread. */
  sync(): void {
    this.#runtime.syncEvent(this.handle);
  }

  /** Milliseconds that the device took from `earlier` to here. Both must be done. */
  since(earlier: DeviceEvent): number {
    return this.#runtime.eventElapsed(earlier.handle, this.handle);
  }
}

/** Recorded work of a stream. */
export class Graph<Result = unknown> {
  readonly #runtime: DeviceRuntime;
  readonly #handle: GraphHandle;
  #disposed = false;
  /** What the recorded function returned. */
  readonly result: Result;

  /** @internal Use `stream.capture()`. */
  constructor(runtime: DeviceRuntime, handle: GraphHandle, result: Result) {
    this.#runtime = runtime;
    this.#handle = handle;
    this.result = result;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Enqueues the recorded work on its stream, and does not wait. */
  launch(): void {
    if (this.#disposed) {
      const details = { op: "launch", name: "the graph", got: "a disposed graph", want: "one that is not" };
      throw new SurprisalError("ERR_SURPRISAL_DISPOSED", "launch: the graph was disposed of", details);
    }
    this.#runtime.launch(this.#handle);
  }

  /** Gives back the graph. Its arrays keep what they hold. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#runtime.releaseGraph(this.#handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
