// Bytes as other programs hand them over: pieces in a buffer that is used again, archives with something behind their end.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { readAllRollouts, readTensors, writeTensors } from "../../lib/io";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();

const TEXTS = [
  "one",
  "a second line",
  "the third, so long that it lies in two pieces of sixty-four bytes, and more than that",
  "é",
];
const plain = Buffer.from(TEXTS.map((text) => `${JSON.stringify({ text })}\n`).join(""));

describe.each([
  ["JSON Lines", plain],
  ["gzip", gzipSync(plain)],
])("%s", (_, all) => {
  test.each([1, 7, 64])("a source may use its buffer of %d bytes again for the next piece", async (size) => {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      const buffer = new Uint8Array(size);
      for (let at = 0; at < all.length; at += size) {
        const piece = all.subarray(at, at + size);
        buffer.set(piece);
        yield await Promise.resolve(buffer.subarray(0, piece.length));
        buffer.fill(0);
      }
    }
    const { rollouts } = await readAllRollouts(pieces());
    expect(rollouts.map(({ text }) => text)).toEqual(TEXTS);
  });
});

test.each([1, 300, 0xffff])("a zip archive with a comment of %d bytes is read", async (length) => {
  const path = folder.at("commented.npz");
  await writeTensors(path, { x: { dtype: "uint8", shape: [3], data: Uint8Array.of(1, 2, 3) } }, { format: "npz" });
  const archive = readFileSync(path);
  archive.writeUInt16LE(length, archive.length - 2);
  writeFileSync(path, Buffer.concat([archive, Buffer.alloc(length, "c")]));
  const { tensors } = await readTensors(path);
  expect([...tensors["x"]!.data]).toEqual([1, 2, 3]);
});
