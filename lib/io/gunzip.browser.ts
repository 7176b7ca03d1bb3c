// gunzip.ts in a browser: by DecompressionStream.
import { unreadable } from "./place";
import type { Unpacking } from "./gunzip";

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

export function gunzip(op: string, file: string, packed: AsyncIterable<Uint8Array>): Unpacking {
  const state: Unpacking = { bytes: unpack(), cutOff: false };

  async function* unpack(): AsyncGenerator<Uint8Array> {
    const { readable, writable } = new DecompressionStream("gzip");
    const reader = (readable as ReadableStream<Uint8Array>).getReader();
    const fed: { ended: boolean; error?: unknown } = { ended: false };
    // Each piece waits until there is room for it: memory stays bounded.
    const feed = async (): Promise<void> => {
      const writer = writable.getWriter();
      try {
        for await (const piece of packed) await writer.write(piece);
        fed.ended = true;
        await writer.close();
      } catch (error) {
        fed.error = error;
        await writer.abort(error).catch(() => undefined);
      }
    };
    const feeding = feed();
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
    } catch (error) {
      // Data that stops before its own end is found out at its end.
      if (!fed.ended)
        throw unreadable({ op, file, line: 0 }, `the gzip data is damaged (${String(fed.error ?? error)})`, error);
      state.cutOff = true;
    } finally {
      await reader.cancel().catch(() => undefined);
      await feeding;
    }
  }
  return state;
}
