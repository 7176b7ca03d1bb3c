// A library whose end is missing is found before it is opened: the first read behind its end would kill the process.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whatIsMissing } from "../../lib/backend/whole-library";

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), "surprisal-whole-"))));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (bytes: Uint8Array): string => {
  const path = join(folder, "library.so");
  writeFileSync(path, bytes);
  return path;
};

/** 64-bit ELF with three entries of 64 bytes in the table of sections, at byte 100. */
function elf(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.write("\x7fELF\x02\x01\x01", "latin1");
  bytes.writeBigUInt64LE(100n, 40);
  bytes.writeUInt16LE(64, 58);
  bytes.writeUInt16LE(3, 60);
  return bytes;
}

test("nothing is missing of a library with all of its table of sections", () => {
  expect(whatIsMissing(file(elf(292)))).toBeUndefined();
  expect(whatIsMissing(file(elf(1000)))).toBeUndefined();
});

test("a byte less, and how many there should be", () => {
  expect(whatIsMissing(file(elf(291)))).toBe(`${join(folder, "library.so")} is not whole: 291 of at least 292 bytes`);
  expect(whatIsMissing(file(elf(64)))).toContain("64 of at least 292 bytes");
});

test("of anything else the loader speaks: an empty file, a script, a 32-bit library, one that is not there", () => {
  const small = elf(100);
  small[4] = 1;
  for (const bytes of [Buffer.alloc(0), Buffer.from("#!/bin/sh\n"), small])
    expect(whatIsMissing(file(bytes))).toBeUndefined();
  expect(whatIsMissing(join(folder, "absent.so"))).toBeUndefined();
  expect(whatIsMissing(folder)).toBeUndefined();
});
