// Bytes and text, by Node's Buffer. bytes.browser.ts takes this file's place in what browsers load.
import { isUtf8 } from "node:buffer";

/** All parts, one behind the other. */
export const joined = (parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);

export const utf8Bytes = (text: string): Uint8Array => Buffer.from(text, "utf8");

/** The text; undefined where the bytes are no UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") : undefined;
}
