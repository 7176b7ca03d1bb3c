// What a rank says of its call before the others take part: 32 bytes, little endian.
//   u8  kind, u8 whole (1: Int32Array), u8 reduction or reason, u8 dtype of a DeviceArray + 1 (0: an array in host memory)
//   i32 root, or the rank that an ending began with; −1: none
//   f64 length, or an exit code
//   f64 number of the call among those of its group
//   i32 hash of the members, i32 their number
import { DTYPE_CODE } from "../core/dtype";
import { SurprisalError } from "../core/errors";
import { REDUCTIONS } from "./checks";

export const FINGERPRINT_BYTES = 32;

const KINDS = ["barrier", "allReduce", "allGather", "broadcast", "ended"] as const;
export type Kind = (typeof KINDS)[number];

/** Why a rank takes part no more. */
export interface Ending {
  readonly reason: "exited" | "threw" | "closed" | "timed out" | "told";
  /** The rank that it began with: a rank that waited for one that ended has ended too. */
  readonly cause: number;
  /** Exit code of the thread or the process. */
  readonly code: number;
}

export const REASONS = [
  "exited",
  "threw",
  "closed",
  "timed out",
  "told",
] as const satisfies readonly Ending["reason"][];

export interface Fingerprint {
  readonly kind: Kind;
  readonly whole: boolean;
  /** Position in REDUCTIONS. */
  readonly reduction: number;
  /** Of the whole collective; −1: none. */
  readonly root: number;
  readonly length: number;
  readonly sequence: number;
  readonly group: number;
  readonly size: number;
  /** Of a DeviceArray: number of its dtype, and one; 0: an array in host memory. */
  readonly device: number;
}

/** A number for a list of members, so that different sub-groups are not taken for one. */
export function hashOf(members: readonly number[]): number {
  return members.reduce((hash, member) => (Math.imul(hash, 31) + member + 1) | 0, members.length);
}

export function encodePrint(print: Fingerprint): Uint8Array {
  const bytes = new Uint8Array(FINGERPRINT_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, KINDS.indexOf(print.kind));
  view.setUint8(1, print.whole ? 1 : 0);
  view.setUint8(2, print.reduction);
  view.setUint8(3, print.device);
  view.setInt32(4, print.root, true);
  view.setFloat64(8, print.length, true);
  view.setFloat64(16, print.sequence, true);
  view.setInt32(24, print.group, true);
  view.setInt32(28, print.size, true);
  return bytes;
}

export function decodePrint(bytes: Uint8Array): Fingerprint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, FINGERPRINT_BYTES);
  return {
    kind: KINDS[view.getUint8(0)]!,
    whole: view.getUint8(1) === 1,
    reduction: view.getUint8(2),
    root: view.getInt32(4, true),
    length: view.getFloat64(8, true),
    sequence: view.getFloat64(16, true),
    group: view.getInt32(24, true),
    size: view.getInt32(28, true),
    device: view.getUint8(3),
  };
}

/** The farewell of a rank, in the place of a call. */
export function encodeEnding({ reason, cause, code }: Ending): Uint8Array {
  const reduction = REASONS.indexOf(reason);
  return encodePrint({
    kind: "ended",
    whole: false,
    reduction,
    root: cause,
    length: code,
    sequence: 0,
    group: 0,
    size: 0,
    device: 0,
  });
}

export function endingOf({ reduction, root, length }: Fingerprint): Ending {
  return { reason: REASONS[reduction]!, cause: root, code: length };
}

const WHO: Readonly<Record<Ending["reason"], (rank: number, code: number) => string>> = {
  exited: (rank, code) => `rank ${rank} has ended (exit code ${code})`,
  threw: (rank) => `rank ${rank} threw an error that nothing caught`,
  closed: (rank) => `rank ${rank} has closed its end`,
  told: (rank) => `rank ${rank} was told to end (SIGTERM)`,
  "timed out": (rank) => `rank ${rank} waited too long for another and gave up`,
};

export function lostError(op: string, { reason, cause, code }: Ending): SurprisalError {
  const text = WHO[reason](cause, code);
  return new SurprisalError("ERR_SURPRISAL_COLLECTIVE_LOST", `${op}: ${text}; open a new collective to go on`, {
    op,
    name: "rank",
    got: cause,
    want: "every rank to take part",
    reason: text,
  });
}

const nameOf = (code: number): string => Object.entries(DTYPE_CODE).find(([, own]) => own === code)?.[0] ?? "";

/** A call as its rank would write it. */
function written(print: Fingerprint): string {
  if (print.kind === "barrier") return "barrier()";
  const host = print.whole ? "Int32Array" : "Float64Array";
  const values = `${print.device > 0 ? `DeviceArray of ${nameOf(print.device - 1)},` : `${host} of`} ${print.length}`;
  if (print.kind === "allReduce") return `allReduce(${values}, "${REDUCTIONS[print.reduction]!}")`;
  return print.kind === "broadcast" ? `broadcast(${values}, from rank ${print.root})` : `allGather(${values})`;
}

const FIELDS = ["kind", "whole", "reduction", "root", "length", "sequence", "group", "size", "device"] as const;

/** The error for calls of the members that differ, the same on every rank. It names two of them. */
export function mismatch(
  op: string,
  prints: readonly Fingerprint[],
  members: readonly number[],
): SurprisalError | undefined {
  const first = prints[0]!;
  const at = prints.findIndex((print) => FIELDS.some((field) => print[field] !== first[field]));
  if (at < 0) return undefined;
  const other = prints[at]!;
  const grouped = first.group !== other.group || first.size !== other.size;
  const numbered = first.sequence !== other.sequence;
  const say = (print: Fingerprint, rank: number): string => {
    const number = numbered ? ` as call ${print.sequence}` : "";
    return `${written(print)}${number}${grouped ? ` in a group of ${print.size}` : ""} on rank ${rank}`;
  };
  const got = `${say(first, members[0]!)}, ${say(other, members[at]!)}`;
  const want = "the same on all ranks";
  return new SurprisalError("ERR_SURPRISAL_COLLECTIVE_MISMATCH", `${op}: the call is ${got}, expected ${want}`, {
    op,
    name: "call",
    got,
    want,
  });
}
