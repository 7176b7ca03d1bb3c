// What the parts gave in a pass, as tensors: a fingerprint for each call, and its numbers. Those of rows are float64, row after row,
// so that the number of the first row of a part is the number of rows before it.
import { readTensors, writeTensors, type FileTensor } from "../../io";
import type { Given } from "../../collective/passes";
import { decodePrint, FINGERPRINT_BYTES } from "../../collective/fingerprint";

const nameOf = (call: number, rank: number): string => `call ${call}, part ${rank}`;

function tensorOf({ print, bytes }: Given): FileTensor {
  const { buffer, byteOffset, length } = bytes;
  return decodePrint(print).whole
    ? { dtype: "int32", shape: [length / 4], data: new Int32Array(buffer, byteOffset, length / 4) }
    : { dtype: "float64", shape: [length / 8], data: new Float64Array(buffer, byteOffset, length / 8) };
}

/** @param calls call by call, rank by rank */
export async function writeCalls(
  file: string,
  calls: readonly (readonly Given[])[],
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  const tensors: Record<string, FileTensor> = {};
  calls.forEach((ranks, call) =>
    ranks.forEach((given, rank) => {
      tensors[nameOf(call, rank)] = tensorOf(given);
      tensors[`${nameOf(call, rank)}: call`] = { dtype: "uint8", shape: [FINGERPRINT_BYTES], data: given.print };
    }),
  );
  await writeTensors(file, tensors, {
    metadata: { ...metadata, calls: String(calls.length), ranks: String(calls[0]?.length ?? 0) },
  });
}

export interface Calls {
  readonly calls: readonly (readonly Given[])[];
  readonly metadata: Readonly<Record<string, string>>;
}

export async function readCalls(file: string): Promise<Calls> {
  const { tensors, metadata } = await readTensors(file, { maxBytes: Number.MAX_SAFE_INTEGER });
  const [calls, ranks] = [Number(metadata["calls"]), Number(metadata["ranks"])];
  const given = (call: number, rank: number): Given => {
    const { data } = tensors[nameOf(call, rank)]!;
    return {
      print: tensors[`${nameOf(call, rank)}: call`]!.data as Uint8Array,
      bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    };
  };
  return {
    calls: Array.from({ length: calls }, (_, call) => Array.from({ length: ranks }, (__, rank) => given(call, rank))),
    metadata,
  };
}
