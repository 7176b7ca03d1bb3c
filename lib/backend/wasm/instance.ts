// One instance of the WebAssembly module: its memory, and calls of ops in it. native/wasm/call.h has the other side.
import { DTYPE_CODE, typedArrayName } from "../../core/dtype";
import { type WasmCode, webAssembly } from "./engine";

/** What native/wasm/module.cpp exports. A pointer is a signed number where it lies in the upper half of the memory. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  _initialize(): void;
  contracts(): number;
  level(): number;
  lastError(): number;
  opName(op: number): number;
  outputs(op: number): number;
  numbers(): number;
  slots(): number;
  prepare(op: number): number;
  run(): number;
  prepareCheck(op: number): number;
  check(): number;
}

const MOST_NUMBERS = 64;

/** A slot of native/wasm/call.h, in elements of four bytes: begin and elements are float64, the others integers. */
const SLOT = { begin: 0, elements: 2, buffer: 4, dtype: 5, place: 6, bytes: 7, size: 8 } as const;

const DTYPE_OF: Readonly<Record<string, number>> = {
  Float32Array: DTYPE_CODE.float32,
  Float64Array: DTYPE_CODE.float64,
  Int32Array: DTYPE_CODE.int32,
  Uint8Array: DTYPE_CODE.uint8,
  Uint8ClampedArray: DTYPE_CODE.uint8,
  Uint16Array: DTYPE_CODE.float16,
  BigInt64Array: DTYPE_CODE.int64,
};
const NO_DTYPE = -1;

type Given = (ArrayBufferView & { readonly length: number }) | null | undefined;

const firstBytes = (array: ArrayBufferView, bytes: number): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, bytes);

export class WasmInstance {
  readonly #exports: Exports;
  readonly #outputs: readonly number[];
  #bytes!: Uint8Array;
  #integers!: Int32Array;
  #floats!: Float64Array;
  #numbers!: Float64Array;

  /** The names of the ops, in the order of their numbers. */
  readonly ops: readonly string[];

  constructor(module: WasmCode) {
    const exports = new (webAssembly()!.Instance)(module, {}).exports as Exports;
    exports._initialize();
    this.#exports = exports;
    this.#renew();
    const ops: string[] = [];
    for (let name = exports.opName(0); name !== 0; name = exports.opName(ops.length)) ops.push(this.#text(name));
    this.ops = ops;
    this.#outputs = ops.map((_name, op) => exports.outputs(op));
  }

  get contracts(): string {
    return this.#text(this.#exports.contracts());
  }
  get level(): string {
    return this.#text(this.#exports.level());
  }
  get lastError(): string {
    return this.#text(this.#exports.lastError());
  }
  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }
  /** The numbers of the next call, in the order of its op. */
  get numbers(): Float64Array {
    this.#renew();
    return this.#numbers;
  }

  /** Runs an op by its number on copies of the arrays, and copies the outputs back. A status; lastError has its text. */
  run(op: number, arrays: readonly Given[]): number {
    this.#describe(arrays);
    const refused = this.#exports.prepare(op);
    if (refused !== 0) return refused;
    this.#copyIn(arrays);
    const status = this.#exports.run();
    if (status === 0) this.#copyOut(arrays, this.#outputs[op]!);
    return status;
  }

  /** Whether run() would begin: everything that an op checks before its first row. A status. */
  check(op: number, arrays: readonly Given[]): number {
    this.#describe(arrays);
    const refused = this.#exports.prepareCheck(op);
    if (refused !== 0) return refused;
    this.#copyIn(arrays);
    return this.#exports.check();
  }

  /** Views of the memory: growing it detaches those there are. */
  #renew(): void {
    const { buffer } = this.#exports.memory;
    if ((this.#bytes as Uint8Array | undefined)?.buffer === buffer) return;
    this.#bytes = new Uint8Array(buffer);
    const slots = this.#exports.slots() >>> 0;
    this.#integers = new Int32Array(buffer, slots);
    this.#floats = new Float64Array(buffer, slots);
    this.#numbers = new Float64Array(buffer, this.#exports.numbers() >>> 0, MOST_NUMBERS);
  }

  #text(pointer: number): string {
    this.#renew();
    const begin = pointer >>> 0;
    return new TextDecoder().decode(this.#bytes.slice(begin, this.#bytes.indexOf(0, begin)));
  }

  #describe(arrays: readonly Given[]): void {
    this.#renew();
    const integers = this.#integers;
    const floats = this.#floats;
    for (let i = 0; i < arrays.length; i++) {
      const array = arrays[i];
      const slot = i * SLOT.size;
      if (array == null) {
        integers[slot + SLOT.dtype] = 0;
        continue;
      }
      const dtype = DTYPE_OF[typedArrayName(array) ?? ""] ?? NO_DTYPE;
      integers[slot + SLOT.dtype] = dtype;
      if (dtype === NO_DTYPE) continue;
      const { buffer } = array;
      let first = 0;
      while (arrays[first]?.buffer !== buffer) first++;
      integers[slot + SLOT.buffer] = first;
      floats[(slot + SLOT.begin) / 2] = array.byteOffset;
      floats[(slot + SLOT.elements) / 2] = array.length;
    }
  }

  #copyIn(arrays: readonly Given[]): void {
    this.#renew();
    for (let i = 0; i < arrays.length; i++) {
      const bytes = this.#integers[i * SLOT.size + SLOT.bytes]! >>> 0;
      // Outputs too: an op may leave a part of them as it is.
      if (arrays[i] != null && bytes > 0) this.#bytes.set(firstBytes(arrays[i]!, bytes), this.#place(i));
    }
  }

  #copyOut(arrays: readonly Given[], outputs: number): void {
    this.#renew();
    for (let i = 0; i < arrays.length; i++) {
      const bytes = this.#integers[i * SLOT.size + SLOT.bytes]! >>> 0;
      if (arrays[i] == null || bytes === 0 || ((outputs >>> i) & 1) === 0) continue;
      const place = this.#place(i);
      firstBytes(arrays[i]!, bytes).set(this.#bytes.subarray(place, place + bytes));
    }
  }

  #place(array: number): number {
    return this.#integers[array * SLOT.size + SLOT.place]! >>> 0;
  }
}
