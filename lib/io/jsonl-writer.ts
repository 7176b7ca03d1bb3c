// Rollouts as JSON Lines, plain or gzipped.
import { createGzip } from "node:zlib";
import type { AtomicFile } from "./atomic-file";
import { rolloutText } from "./record-json";
import type { Rollout } from "./record";
import { ZlibSteps } from "./zlib-steps";

/** Characters gathered before they are written. */
const BLOCK = 256 * 1024;

async function* blocks(op: string, rollouts: AsyncIterable<Rollout>): AsyncGenerator<string> {
  let text = "";
  let index = 0;
  for await (const rollout of rollouts) {
    text += `${rolloutText(op, rollout, index++)}\n`;
    if (text.length < BLOCK) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

export async function writeJsonl(
  op: string,
  file: AtomicFile,
  rollouts: AsyncIterable<Rollout>,
  gzip: boolean,
): Promise<void> {
  if (!gzip) {
    for await (const text of blocks(op, rollouts)) await file.write(text);
    return;
  }
  const steps = new ZlibSteps(createGzip());
  try {
    for await (const text of blocks(op, rollouts))
      for await (const bytes of steps.push(Buffer.from(text, "utf8"))) await file.write(bytes);
    for await (const bytes of steps.end()) await file.write(bytes);
  } finally {
    steps.close();
  }
}
