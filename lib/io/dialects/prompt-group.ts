// Group labels where a source has none: rollouts of one prompt have the same hash of it.
import { createHash } from "node:crypto";

/** A label for the rollouts of one prompt: 64 bits of SHA-256 of its text, or of its ids. */
export function promptGroup(prompt: string | Int32Array): string {
  const hash = createHash("sha256");
  // Ids and text never share a label by chance of their bytes.
  if (typeof prompt === "string") hash.update("text:").update(prompt);
  else hash.update("ids:").update(new Uint8Array(prompt.buffer, prompt.byteOffset, prompt.byteLength));
  return `prompt-${hash.digest("hex").slice(0, 16)}`;
}
