// Device memory of others: of another process, or of another library in this one.
import { DeviceArray } from "../core/device-array";
import { DTYPE_CODE, type DType, typedArrayName } from "../core/dtype";
import { argumentError, dtypeError, shapeError } from "../core/errors";
import { bytesOf, type DevicePlace, needDType, needPlace, needShape } from "./to-device";

/** What another process needs to open an array. Plain data: send it as it is. */
export interface IpcHandle<D extends DType = DType> {
  /** 64 bytes of the driver: cudaIpcMemHandle_t. */
  readonly handle: Uint8Array;
  /** Where the array begins in the memory that the handle opens. */
  readonly byteOffset: number;
  readonly dtype: D;
  readonly shape: readonly number[];
}

/** Type and sizes of memory that says neither. */
export interface ForeignOptions<D extends DType> extends DevicePlace {
  readonly dtype: D;
  readonly shape: readonly number[];
}

function needArray(op: string, array: unknown): DeviceArray {
  if (DeviceArray.is(array)) return array;
  throw dtypeError(op, "array", array, "a DeviceArray");
}

/**
 * Lets another process on this machine open an array (`fromIpcHandle`, or a PyTorch trainer through the CUDA runtime). Waits for
 * the work that fills it, so that who gets the handle sees what was asked for here; of work that is asked for afterwards it
 * sees what has run. The array must live as long as the other one uses it, and be made with `shared: true` (`deviceEmpty`,
 * `toDevice`); ops fill such an array as their `out`.
 *
 * @throws SurprisalError ERR_SURPRISAL_BACKEND_UNAVAILABLE where the backend cannot, _OPTION where the array is not `shared`, _DISPOSED,
 * and what went wrong on the stream: _RANGE, _VALUE or _DEVICE
 */
export function toIpcHandle<D extends DType>(array: DeviceArray<D>): IpcHandle<D> {
  const op = "toIpcHandle";
  const { stream } = needArray(op, array);
  // In this order: the export lines the stream up behind the last use of the array, on whatever stream that was.
  const { handle, byteOffset } = stream.runtime.exportMemory(array.handle(op, "array"));
  stream.runtime.sync();
  return { handle, byteOffset, dtype: array.dtype, shape: array.shape };
}

/** Opens memory of another process: the same bytes, not a copy. `dispose()` closes it. */
export function fromIpcHandle<D extends DType>(memory: IpcHandle<D>, options: DevicePlace = {}): DeviceArray<D> {
  const op = "fromIpcHandle";
  const { handle, byteOffset, dtype, shape } = memory;
  if (typedArrayName(handle) !== "Uint8Array" || handle.length !== 64)
    throw argumentError("ERR_SURPRISAL_BUFFER", op, "handle", handle, "a Uint8Array of 64 bytes");
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0)
    throw shapeError(op, "byteOffset", byteOffset, "an integer >= 0");
  needDType(op, dtype);
  const stream = needPlace(op, options);
  const opened = stream.runtime.openMemory(
    { handle, byteOffset },
    bytesOf(dtype, needShape(op, shape)),
    DTYPE_CODE[dtype],
  );
  return new DeviceArray(dtype, shape, { stream, handle: opened, buffer: {}, byteOffset: 0 });
}

/**
 * Memory of another library in this process, such as a tensor's data_ptr: the same bytes, which must outlive the array, and
 * whose work must be done.
 */
export function fromPointer<D extends DType>(
  pointer: bigint,
  { dtype, shape, ...place }: ForeignOptions<D>,
): DeviceArray<D> {
  const op = "fromPointer";
  if (typeof pointer !== "bigint" || pointer <= 0n)
    throw argumentError("ERR_SURPRISAL_BUFFER", op, "pointer", pointer, "an address, as a bigint");
  needDType(op, dtype);
  const stream = needPlace(op, place);
  const handle = stream.runtime.fromPointer(pointer, bytesOf(dtype, needShape(op, shape)), DTYPE_CODE[dtype]);
  return new DeviceArray(dtype, shape, { stream, handle, buffer: {}, byteOffset: 0 });
}

/** The address of an array, for another library in this process. The array must live as long as it is used. */
export function toPointer(array: DeviceArray): bigint {
  const op = "toPointer";
  return needArray(op, array).stream.runtime.pointerOf(array.handle(op, "array"));
}
