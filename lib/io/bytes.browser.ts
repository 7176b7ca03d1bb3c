// bytes.ts in a browser.

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const utf8Bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
