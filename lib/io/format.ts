// Which layout a file has: by its first bytes, since names lie.
import type { FileFormat } from "./read-options";

/** Enough bytes to tell. */
export const HEAD_BYTES = 16;

const startsWith = (head: Uint8Array, text: string): boolean =>
  head.length >= text.length && Array.from(text).every((letter, i) => head[i] === letter.charCodeAt(0));

/** A length of 8 bytes, then the brace of a JSON header. */
function isSafetensors(head: Uint8Array): boolean {
  if (head.length < 9 || head[8] !== 0x7b) return false;
  const length = new DataView(head.buffer, head.byteOffset).getBigUint64(0, true);
  return length >= 2n && length < 2n ** 32n;
}

export function formatOf(head: Uint8Array): FileFormat {
  if (startsWith(head, "PAR1")) return "parquet";
  if (startsWith(head, "PK\u0003\u0004") || startsWith(head, "PK\u0005\u0006")) return "npz";
  return isSafetensors(head) ? "safetensors" : "jsonl";
}

const ENDINGS: readonly (readonly [RegExp, FileFormat])[] = [
  [/\.(?:jsonl|ndjson|json)(?:\.gz)?$/i, "jsonl"],
  [/\.parquet$/i, "parquet"],
  [/\.safetensors$/i, "safetensors"],
  [/\.npz$/i, "npz"],
];

/** The layout that a path's ending asks for. */
export function formatOfPath(path: string): FileFormat | undefined {
  return ENDINGS.find(([ending]) => ending.test(path))?.[1];
}
