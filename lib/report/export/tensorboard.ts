// Scalars as an event file of TensorBoard: TFRecords, each a protocol buffer of type Event.
import { needNumber } from "../../core/option-checks";
import type { Summary } from "../summary";
import { scalarRows } from "./scalar-rows";

/** CRC-32C (Castagnoli), reflected, a byte at a time. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

/** As TFRecord masks it: rotated right by 15, plus a constant. */
function maskedCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** length (8 bytes), its checksum, the bytes, their checksum. */
function record(bytes: Uint8Array): Buffer {
  const whole = Buffer.alloc(16 + bytes.length);
  whole.writeBigUInt64LE(BigInt(bytes.length), 0);
  whole.writeUInt32LE(maskedCrc(whole.subarray(0, 8)), 8);
  whole.set(bytes, 12);
  whole.writeUInt32LE(maskedCrc(bytes), 12 + bytes.length);
  return whole;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

/** Number of the field and how its value is written: 0 varint, 1 eight bytes, 2 bytes with their length, 5 four bytes. */
const key = (field: number, type: 0 | 1 | 2 | 5): Buffer => varint(field * 8 + type);

const bytesField = (field: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([key(field, 2), varint(bytes.length), bytes]);

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([key(field, 1), bytes]);
}

function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([key(field, 5), bytes]);
}

/** Event: wall_time = 1, step = 2, file_version = 3, summary = 5. Summary: value = 1. Value: tag = 1, simple_value = 2. */
function scalarEvent(wallTime: number, step: number, tag: string, value: number): Buffer {
  const one = Buffer.concat([bytesField(1, Buffer.from(tag, "utf8")), floatField(2, value)]);
  return Buffer.concat([
    doubleField(1, wallTime),
    key(2, 0),
    varint(Math.trunc(step)),
    bytesField(5, bytesField(1, one)),
  ]);
}

export interface TensorboardOptions {
  /** Seconds since 1970 that every event carries. Default: now. */
  readonly wallTime?: number;
}

/**
 * Returns the scalars of a run as the bytes of a TensorBoard event file: one event for each step and scalar, values as float32. The file's
 * name must hold "tfevents"; a folder a run makes them curves of one chart.
 *
 * @param summary of `summarize`
 * @throws SurprisalError _OPTION
 */
export function tensorboardEvents(summary: Summary, options: TensorboardOptions = {}): Uint8Array {
  const wallTime = needNumber("tensorboardEvents", "wallTime", options.wallTime ?? Date.now() / 1000, { min: 0 });
  const version = Buffer.concat([doubleField(1, wallTime), bytesField(3, Buffer.from("brain.Event:2"))]);
  const events = scalarRows(summary).flatMap(({ _step, ...scalars }) =>
    Object.entries(scalars).map(([tag, value]) => scalarEvent(wallTime, _step, tag, value)),
  );
  return Uint8Array.from(Buffer.concat([version, ...events].map(record)));
}
