/// <reference lib="esnext.disposable" preserve="true" />
// Figures of a call whose last additions are made where they are read.
import type { DeviceArray } from "./device-array";

/**
 * Numbers of a batch that a call on a device leaves in partial sums there. Reading them waits, and adds up in the order in
 * which the host does it, so that they have the same bits.
 */
export class DeviceSummary<Figures> {
  readonly #parts: readonly DeviceArray[];
  readonly #finish: (parts: readonly ArrayBufferView[]) => Figures;

  /** @internal */
  constructor(parts: readonly DeviceArray[], finish: (parts: readonly ArrayBufferView[]) => Figures) {
    this.#parts = parts;
    this.#finish = finish;
  }

  /** Waits for the call. */
  read(): Figures {
    return this.#finish(this.#parts.map((part) => part.read()));
  }

  /** `read` off the event loop. */
  async readAsync(): Promise<Figures> {
    return this.#finish(await Promise.all(this.#parts.map((part) => part.readAsync())));
  }

  /** Gives the memory of the partial sums back. */
  dispose(): void {
    for (const part of this.#parts) part.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
