// The arrays of a case on a device: several sets of inputs, so that no call finds its own in the L2 cache, and outputs.
import type { Backend, OpName } from "../../../lib/backend/backend";
import { allocateOn, type DeviceArray } from "../../../lib/core/device-array";
import { type DType, DTYPE_CODE, typedArrayName } from "../../../lib/core/dtype";
import { fromHalfBits } from "../../../lib/core/half";
import { allocateHost, ELEMENT_BYTES, type HostArray } from "../../../lib/core/host-array";
import type { Stream } from "../../../lib/core/stream";
import type { ErrorFigure } from "../../record";
import { asNumbers } from "../../cases/logprob-backward";
import { errorOf } from "../../harness/check";
import type { DeviceCase, Outputs, Prepared } from "./case";

/** Of each array, by the name of its argument. */
type DeviceArrays = Readonly<Record<string, DeviceArray>>;

export interface DeviceSet {
  readonly inputs: DeviceArrays;
  readonly outputs: DeviceArrays;
  /** Asks for the call. */
  readonly run: () => void;
  /** All bits of the outputs set: NaN, or −1. */
  readonly poison: () => void;
  readonly dispose: () => void;
}

const BYTES_OF: Readonly<Record<string, DType>> = {
  Float32Array: "float32",
  Float64Array: "float64",
  Int32Array: "int32",
  Uint8Array: "uint8",
  BigInt64Array: "int64",
};

function dtypeOf(array: HostArray, { dtype }: DeviceCase): DType {
  return BYTES_OF[typedArrayName(array)!] ?? dtype;
}

const bytesIn = (array: HostArray): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Views of an array, of `length` elements each. */
function partsOf<D extends DType>(array: DeviceArray<D>, length: number): DeviceArray<D>[] {
  return Array.from({ length: length === 0 ? 0 : array.length / length }, (_, k) =>
    array.view(k * length, (k + 1) * length),
  );
}

/** An array on the device that holds `times` copies of a host array. */
function send<D extends DType>(stream: Stream, array: HostArray, dtype: D, times: number): DeviceArray<D> {
  const there: DeviceArray<D> = allocateOn(stream, dtype, [array.length * times]);
  const [first, ...others] = partsOf(there, array.length);
  first?.write(array as HostArray<D>);
  for (const part of others) part.copyFrom(first!).dispose();
  first?.dispose();
  return there;
}

function argumentsOf({ numbers, repeat }: Prepared): Record<string, unknown> {
  if (!repeat) return { ...numbers };
  return { ...numbers, [repeat.count]: (numbers[repeat.count] as number) * repeat.times };
}

function runOp(backend: Backend, call: OpName, args: object): void {
  (backend.ops[call] as (args: object) => void)(args);
}

/** `count` sets: the first is sent, the others are copies of it on the device. */
export function deviceSets(
  one: DeviceCase,
  prepared: Prepared,
  backend: Backend,
  stream: Stream,
  count: number,
): DeviceSet[] {
  const times = prepared.repeat?.times ?? 1;
  const sets: DeviceSet[] = [];
  for (let k = 0; k < count; ++k) {
    const inputs: Record<string, DeviceArray> = {};
    for (const [name, array] of Object.entries(prepared.inputs)) {
      const earlier = sets[0]?.inputs[name];
      inputs[name] = earlier
        ? allocateOn(stream, earlier.dtype, earlier.shape).copyFrom(earlier)
        : send(stream, array, dtypeOf(array, one), times);
    }
    const outputs = Object.fromEntries(
      Object.entries(prepared.outputs).map(([name, { dtype, length }]) => [
        name,
        allocateOn(stream, dtype, [length * times]),
      ]),
    );
    const args = { ...argumentsOf(prepared), ...inputs, ...outputs };
    sets.push({
      inputs,
      outputs,
      run: () => runOp(backend, one.call, args),
      poison: () => {
        for (const [name, { dtype, length }] of Object.entries(prepared.outputs)) {
          const ones = allocateHost(dtype, length);
          bytesIn(ones).fill(0xff);
          for (const part of partsOf(outputs[name]!, length)) part.write(ones).dispose();
        }
      },
      dispose: () => {
        for (const array of [...Object.values(inputs), ...Object.values(outputs)]) array.dispose();
      },
    });
  }
  return sets;
}

/** The same call on the CPU backend. */
export function cpuOutputs(one: DeviceCase, { numbers, inputs, outputs }: Prepared, cpu: Backend): Outputs {
  const found = Object.fromEntries(
    Object.entries(outputs).map(([name, { dtype, length }]) => {
      const array = allocateHost(dtype, length);
      bytesIn(array).fill(0xff);
      return [name, array];
    }),
  );
  runOp(cpu, one.call, { ...numbers, ...inputs, ...found });
  return found;
}

/** Numbers of an array, as they are asked for. */
function numbersOf(array: HostArray, dtype: DType) {
  if (dtype === "bfloat16") return asNumbers(array as Uint16Array, "bfloat16");
  return dtype === "int64" ? Float64Array.from(array as BigInt64Array, Number) : (array as Float32Array);
}

/**
 * By output, how far a set is from what the CPU backend left. Parts of a repeated output are held against the first bit by bit.
 *
 * @throws what went wrong on the stream
 */
export function errorsOfSet(
  { outputs }: DeviceSet,
  prepared: Prepared,
  cpu: Outputs,
): Readonly<Record<string, ErrorFigure>> {
  const errors: Record<string, ErrorFigure> = {};
  for (const [name, { dtype, length, budget }] of Object.entries(prepared.outputs)) {
    const parts = partsOf(outputs[name]!, length);
    const first = parts[0]?.read() ?? allocateHost(dtype, 0);
    const values = dtype === "bfloat16" ? fromHalfBits(cpu[name] as Uint16Array, dtype) : numbersOf(cpu[name]!, dtype);
    errors[name] = errorOf(numbersOf(first, dtype), { values, budget: budget(cpu) });
    const again = allocateHost(dtype, length);
    parts.forEach((part, k) => {
      if (k > 0 && Buffer.compare(bytesIn(part.read(again)), bytesIn(first)) !== 0)
        errors[name] = {
          maxAbs: Infinity,
          maxRel: Infinity,
          budget: `part ${k} of the rows has the bits of the first`,
          used: Infinity,
        };
      part.dispose();
    });
  }
  return errors;
}

/** Whether two sets left the same bits. */
export function sameBits(a: DeviceSet, b: DeviceSet): boolean {
  return Object.entries(a.outputs).every(
    ([name, array]) => Buffer.compare(bytesIn(array.read()), bytesIn(b.outputs[name]!.read())) === 0,
  );
}

/** Bytes of one copy: in a graph on an H200, one of 620 MB had two thirds of the speed of parts of this size. */
const MOST_COPIED = 64 << 20;

/** Pairs of arrays whose copies move `bytes` each, half of them read. Of bytes that differ, as those of numbers do. */
export function copyPairs(
  stream: Stream,
  bytes: number,
  count: number,
): { readonly runs: readonly (() => void)[]; readonly moved: number; readonly dispose: () => void } {
  const length = Math.max(1, Math.floor(bytes / 2));
  const noise = new Uint8Array(length);
  let state = 1;
  const drawn = Math.min(length, 1 << 16);
  for (let i = 0; i < drawn; ++i) noise[i] = (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
  for (let have = drawn; have < length; have *= 2) noise.copyWithin(have, 0, Math.min(have, length - have));
  const source = send(stream, noise, "uint8", 1);
  const pairs = Array.from({ length: count }, (_, k) => {
    const from = k === 0 ? source : allocateOn(stream, "uint8", [length]).copyFrom(source);
    const to = allocateOn(stream, "uint8", [length]);
    const parts = Array.from({ length: Math.ceil(length / MOST_COPIED) }, (_p, i) => {
      const [begin, end] = [i * MOST_COPIED, Math.min((i + 1) * MOST_COPIED, length)];
      return { from: from.view(begin, end), to: to.view(begin, end) };
    });
    return { from, to, parts };
  });
  return {
    runs: pairs.map(
      ({ parts }) =>
        () =>
          parts.forEach((part) => part.to.copyFrom(part.from)),
    ),
    moved: 2 * length,
    dispose: () => {
      for (const { from, to, parts } of pairs)
        for (const array of [...parts.flatMap((part) => [part.from, part.to]), from, to]) array.dispose();
    },
  };
}

/** Bytes of a case's arrays on the device, of one set. */
export function bytesOfSet({ inputs, outputs, repeat }: Prepared): number {
  const arrays = [
    ...Object.values(inputs).map(({ byteLength }) => byteLength),
    ...Object.values(outputs).map(({ dtype, length }) => length * ELEMENT_BYTES[dtype]),
  ];
  return arrays.reduce((a, b) => a + b, 0) * (repeat?.times ?? 1);
}

/** The number of the native interface for a case's type. */
export function codeOf({ dtype }: Pick<DeviceCase, "dtype">): number {
  return DTYPE_CODE[dtype];
}
